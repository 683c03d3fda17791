"""Stops the descendants of processes, and lets them continue."""

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Protocol

from runner.system.descendants import list_descendants

_MAX_ROUNDS = 10
"""How many times to look for processes that were started while the others were being stopped."""


class Clock(Protocol):
    """A clock that measures the time for which processes may run."""

    def stop(self) -> AbstractContextManager[None]:
        """Stop the clock within a context."""


@contextmanager
def pause_descendants(processes: Iterable[int], clock: Clock | None = None) -> Iterator[None]:
    """Stop the descendants of processes for the duration of a context; the processes themselves keep running.

    Parameters
    ----------
    clock
        A clock to stop while the descendants are stopped.
    """
    roots = list(processes)
    stopped_processes: set[int] = set()
    try:
        for _ in range(_MAX_ROUNDS):  # A process may start others before it is stopped.
            new_processes = list_descendants(roots) - stopped_processes
            if not new_processes:
                break
            for pid in new_processes:
                _send_signal(pid, signal.SIGSTOP)
            stopped_processes |= new_processes
        with clock.stop() if clock else nullcontext():
            yield
    finally:
        for pid in stopped_processes:
            _send_signal(pid, signal.SIGCONT)


def _send_signal(pid: int, signal_number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal_number)
