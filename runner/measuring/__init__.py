"""Measures one case of one revision, or two of them in turns."""
