"""Timing and scale, measured as ratios within one run: `make bench-NAME`."""
