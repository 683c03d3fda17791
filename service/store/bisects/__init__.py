"""Bisects: what a search reads, and what the searches for drifts have found."""
