"""Decides whether two sides differ: measured in turns, or stored at different times."""
