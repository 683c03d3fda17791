"""Decomposes the changes between two releases into drifts, and writes them as text."""
