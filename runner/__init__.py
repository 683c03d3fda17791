"""The runner: builds revisions, runs cases under perf stat, and reports the counts."""
