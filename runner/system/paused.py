"""Stops all that some processes have started, and lets it continue."""

import os
import signal
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_ROUNDS = 10
"""How often to look for processes that were started while the others were stopped."""


@contextmanager
def paused_descendants(processes: Iterable[int]) -> Iterator[None]:
    """Stop all that some processes have started for the duration of a context. They themselves keep running."""
    roots = list(processes)
    stopped: set[int] = set()
    try:
        for _ in range(_ROUNDS):
            new = _descendants(roots) - stopped
            if not new:
                break
            for pid in new:
                _send(pid, signal.SIGSTOP)
            stopped |= new
        yield
    finally:
        for pid in stopped:
            _send(pid, signal.SIGCONT)


def _descendants(roots: Sequence[int]) -> set[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (parent := _parent(entry.name)) is not None:
            children[parent].append(int(entry.name))
    found: set[int] = set()
    waiting = list(roots)
    while waiting:
        below = children[waiting.pop()]
        found.update(below)
        waiting += below
    return found


def _parent(process: str) -> int | None:
    with suppress(OSError, ValueError, IndexError), Path("/proc", process, "stat").open("rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
    return None


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)
