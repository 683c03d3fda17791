"""Decides what becomes of a pull request."""
