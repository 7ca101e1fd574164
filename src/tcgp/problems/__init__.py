"""Placeholder, filled as the package grows."""
