"""Nightly runs: a matrix of hosts, configurations and workloads from one file, measured cell by cell."""
