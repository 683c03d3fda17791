"""Decides whether two sides differ, from runs measured in turns or stored at different times."""
