"""Runs programs under perf: command lines of perf, attached counters and recordings, and parsers of perf's output."""
