"""Decides where a series changes its level, and the cause of each change."""
