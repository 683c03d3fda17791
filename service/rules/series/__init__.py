"""Decides where a series changes its level, and what that is blamed on."""
