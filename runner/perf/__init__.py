"""perf stat: its command line, one execution under it, and what its output says."""
