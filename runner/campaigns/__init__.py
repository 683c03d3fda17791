"""Many measurements for one question: measure a history, search for commits, search for settings."""
