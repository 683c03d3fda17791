"""Verdicts against what is true: each module plants what it knows, and counts the answers that are wrong."""
