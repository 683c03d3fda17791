"""Revisions: the commits of subjects in the order of their history, and the names that people use for them."""
