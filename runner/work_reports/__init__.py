"""Reads what a program or a load generator reports of its work: operations, seconds, latencies."""
