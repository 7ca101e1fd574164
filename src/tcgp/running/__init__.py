"""Who evaluates, and for how long: `minimize`, its rules to stop, and crews of workers."""
