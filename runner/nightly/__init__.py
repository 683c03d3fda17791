"""Nights: a matrix of hosts and configurations, from one file, measured cell by cell."""
