"""Reads what a program or a load generator reports about its work: operations, seconds, latencies."""
