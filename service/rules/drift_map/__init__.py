"""Lays out the drift map: which rows and columns it has, and what each of its cells shows."""
