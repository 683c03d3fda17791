"""The host as a whole: its lock, its declared knobs, whether it counts right."""
