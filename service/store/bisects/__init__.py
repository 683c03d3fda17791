"""Bisects: the input of a search, and the results of the searches for drifts."""
