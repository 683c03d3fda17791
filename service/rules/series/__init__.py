"""Decides where a series changes its level, and what the change is blamed on."""
