"""Stops all that some processes have started, and lets it continue."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from runner.system.descendants import list_descendants

_MAX_ROUNDS = 10
"""How often to look for processes that were started while the others were stopped."""


@contextmanager
def pause_descendants(processes: Iterable[int]) -> Iterator[None]:
    """Stop the descendants of some processes for the duration of a context; the processes themselves keep running."""
    roots = list(processes)
    stopped_processes: set[int] = set()
    try:
        for _ in range(_MAX_ROUNDS):
            new_processes = list_descendants(roots) - stopped_processes
            if not new_processes:
                break
            for pid in new_processes:
                _send_signal(pid, signal.SIGSTOP)
            stopped_processes |= new_processes
        yield
    finally:
        for pid in stopped_processes:
            _send_signal(pid, signal.SIGCONT)


def _send_signal(process: int, signal_number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal_number)
