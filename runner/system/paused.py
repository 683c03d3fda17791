"""Stops processes and all that they have started, and lets them continue."""

import os
import signal
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_ROUNDS = 10
"""How often to look for processes that were started while the others were stopped."""


@contextmanager
def paused(roots: Iterable[int], leave_running: Callable[[int], bool] = lambda _: False) -> Iterator[None]:
    """Stop processes with all their descendants for the duration of a context.

    Parameters
    ----------
    roots
        The processes.
    leave_running
        Whether a process keeps running, with its descendants stopped all the same.
    """
    roots = list(roots)
    stopped: set[int] = set()
    try:
        for _ in range(_ROUNDS if roots else 0):
            new = {pid for pid in _with_descendants(roots) - stopped if not leave_running(pid)}
            if not new:
                break
            for pid in new:
                _send(pid, signal.SIGSTOP)
            stopped |= new
        yield
    finally:
        for pid in stopped:
            _send(pid, signal.SIGCONT)


def _with_descendants(roots: Iterable[int]) -> set[int]:
    children: dict[int, list[int]] = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (parent := _parent(entry.name)) is not None:
            children[parent].append(int(entry.name))
    found: set[int] = set()
    waiting = [pid for pid in roots if Path("/proc", str(pid)).exists()]
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        waiting += children[pid]
    return found


def _parent(process: str) -> int | None:
    with suppress(OSError, ValueError, IndexError), Path("/proc", process, "stat").open("rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
    return None


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, number)
