"""Searches for the commits or knobs that moved a metric: takes what was measured, returns what to measure next."""
