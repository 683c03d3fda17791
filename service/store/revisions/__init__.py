"""Revisions: the commits of subjects in the order of their history, and the names by which people call them."""
