"""The host as a whole: its lock, its declared knobs, and whether its counts can be trusted."""
