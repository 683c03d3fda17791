"""Decides whether two sides differ, from runs measured interleaved or stored at different times."""
