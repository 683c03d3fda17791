"""Nightly runs: the reports of their hosts, the digest of a run, and the grid of the newest levels."""
