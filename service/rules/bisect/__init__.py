"""Searches for the commits or settings that moved a metric: takes what was measured, returns what to measure next."""
