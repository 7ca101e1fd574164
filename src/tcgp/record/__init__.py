"""The record of a run: what was asked and told, the journal that keeps it, and its settings."""
