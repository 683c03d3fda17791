"""What is stored of nightly runs, the drifts that each reports, and the newest points for the matrix."""
