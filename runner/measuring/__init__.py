"""Measures one case of one revision, or of two revisions interleaved."""
