"""Queries about nightly runs, the drifts that each of them reports, and the newest points for the grid."""
