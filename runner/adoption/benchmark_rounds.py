"""Changes how often a benchmark repeats its work, where its command fixes the number of rounds."""

import re

_ROUNDS = re.compile(r"(-test\.benchtime=|--benchmark_min_time=)(\d+)x(?!\w)")
"""The number of rounds in a command of Go's benchmarks, or of Google Benchmark."""
_FACTOR = 100
_MAX_ROUNDS = 100_000


def increase_rounds(command: str) -> str:
    """Return a command with a hundred times the rounds of its benchmarks; empty if it fixes none, or has enough."""
    match = _ROUNDS.search(command)
    rounds = int(match[2]) * _FACTOR if match else 0
    return _ROUNDS.sub(rf"\g<1>{rounds}x", command) if match and rounds <= _MAX_ROUNDS else ""
