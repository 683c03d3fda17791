"""Decomposes what changed between two releases into drifts, and writes it as text."""
