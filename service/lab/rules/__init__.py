"""Compares settings at one commit: which runs are of one cell, what a cell costs, which one is the best."""
