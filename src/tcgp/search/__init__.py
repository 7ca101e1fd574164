"""Where the next point comes from: the initial design, or the criterion of the models."""
