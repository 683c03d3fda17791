"""Stores of runs: what was measured, as files in a folder or in a branch, so that a history needs no service."""
