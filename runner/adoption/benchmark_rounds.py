"""Changes how much a suite of benchmarks does, where its command fixes the number of rounds."""

import re

_ROUNDS = re.compile(r"(-test\.benchtime=|--benchmark_min_time=)(\d+)x(?!\w)")
"""The number of rounds in a command of Go's benchmarks, or of Google Benchmark."""
_FACTOR = 100
_MAX_ROUNDS = 100_000
_GO_RESULT = re.compile(r"^(Benchmark\w*?)(?:/\S*)?(?:-\d+)?\s+\d+\s+([\d.]+) ns/op", re.MULTILINE)
"""The result of a Go benchmark: its name, without that of a part, and the duration of a round."""
_SLOW_SECONDS = 0.2
"""A round that takes longer makes ten rounds of a benchmark too slow, in seconds."""
_MAX_SLOW_SHARE = 0.25
"""If more benchmarks than this share are slow, they are what the suite is about."""


def reduce_rounds(command: str) -> str:
    """Return a command with a single round of its benchmarks; empty if it fixes no number of rounds, or has one."""
    match = _ROUNDS.search(command)
    return _ROUNDS.sub(r"\g<1>1x", command) if match and int(match[2]) > 1 else ""


def increase_rounds(command: str) -> str:
    """Return a command with a hundred times the rounds of its benchmarks; empty if it fixes none, or has enough."""
    match = _ROUNDS.search(command)
    rounds = int(match[2]) * _FACTOR if match else 0
    return _ROUNDS.sub(rf"\g<1>{rounds}x", command) if match and rounds <= _MAX_ROUNDS else ""


def skip_slow_benchmarks(command: str, output: str) -> str:
    """Return a command of Go's benchmarks without the few that take nearly all the time; empty if it has none.

    Parameters
    ----------
    output
        What the command has printed with a single round.
    """
    results = [(match[1], float(match[2]) / 1e9) for match in _GO_RESULT.finditer(output)]
    slow_names = list(dict.fromkeys(name for name, seconds in results if seconds > _SLOW_SECONDS))
    names = {name for name, _ in results}
    if "-test.bench=" not in command or not slow_names or len(slow_names) > _MAX_SLOW_SHARE * len(names):
        return ""
    option = f'-test.skip="^({"|".join(slow_names)})$"'
    return re.sub(r"(?=-test\.benchtime=)", lambda _: f"{option} ", command, count=1)
