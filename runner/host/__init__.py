"""The host as a whole: its lock, its declared settings, and whether its counts can be trusted."""
