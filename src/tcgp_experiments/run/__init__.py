"""How the tasks of a plan are computed, and where their results are kept."""
