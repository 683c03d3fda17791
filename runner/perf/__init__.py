"""Runs programs under perf: its command lines, attached counters and recordings, and the parsers of its output."""
