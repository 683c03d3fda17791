"""Nightly runs: what their hosts report, the digest of one, and the matrix of the newest levels."""
