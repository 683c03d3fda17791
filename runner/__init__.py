"""The runner: builds revisions, runs cases under perf stat and reports what was counted."""
