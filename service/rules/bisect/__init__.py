"""Searches for the commits or settings that moved a metric: decides from the measurements what to measure next."""
