"""Campaigns of many measurements: measure a history, search for commits, search for settings."""
