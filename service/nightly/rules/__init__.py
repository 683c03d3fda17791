"""Decides what a nightly run has to tell, and arranges cases by hosts and their configurations."""
