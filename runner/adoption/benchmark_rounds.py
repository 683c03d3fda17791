"""Changes how much a suite of benchmarks does, where its command fixes the number of rounds."""

import re
from collections.abc import Sequence

_ROUNDS = re.compile(r"(-test\.benchtime=|--benchmark_min_time=)(\d+)x(?!\w)")
"""The number of rounds in a command of Go's benchmarks, or of Google Benchmark."""
_FACTOR = 100
_MAX_ROUNDS = 100_000
_GO_PATTERN = re.compile(r"-test\.bench=(\"[^\"]*\"|[^\s']+)")
"""The pattern of the benchmarks in a command of Go's."""
_GO_NAME = re.compile(r"Benchmark\w+")


def reduce_rounds(command: str) -> str:
    """Return a command with a single round of its benchmarks; empty if it fixes no number of rounds, or has one."""
    match = _ROUNDS.search(command)
    return _ROUNDS.sub(r"\g<1>1x", command) if match and int(match[2]) > 1 else ""


def increase_rounds(command: str) -> str:
    """Return a command with a hundred times the rounds of its benchmarks; empty if it fixes none, or has enough."""
    match = _ROUNDS.search(command)
    rounds = int(match[2]) * _FACTOR if match else 0
    return _ROUNDS.sub(rf"\g<1>{rounds}x", command) if match and rounds <= _MAX_ROUNDS else ""


def list_benchmark_commands(command: str, names_text: str) -> dict[str, str]:
    """Return the commands that run a single round of each benchmark alone, by their names.

    Parameters
    ----------
    names_text
        What the command of :func:`ask_for_names` has printed.
    """
    names = [line for line in names_text.splitlines() if _GO_NAME.fullmatch(line)]
    single_round = reduce_rounds(command) or command
    return {name: _GO_PATTERN.sub(f'-test.bench="^{name}$"', single_round, count=1) for name in dict.fromkeys(names)}


def ask_for_names(command: str) -> str:
    """Return a command that prints the names of the benchmarks of a Go command; empty if it is none."""
    return _GO_PATTERN.sub(r"-test.list=\1", command, count=1) if _GO_PATTERN.search(command) else ""


def skip_benchmarks(command: str, names: Sequence[str]) -> str:
    """Return a command of Go's benchmarks that leaves some of them out."""
    return _GO_PATTERN.sub(lambda match: f'{match[0]} -test.skip="^({"|".join(names)})$"', command, count=1)
