"""Runs: they are written once with their reports, listed, and read for comparisons and searches."""
