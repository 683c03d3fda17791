"""Releases: what changed between two of them, and the drifts and commits that caused it."""
