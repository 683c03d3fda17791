"""Attaches perf to programs that run already, with all their children."""

import errno
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType

from runner.perf.attached_perf import AttachedPerf, AttachError
from runner.system.descendants import list_children

_MAX_ATTEMPTS = 3
"""How many times perf tries to attach while children of the program come and go, before they are stopped for that."""


def attach_to_running(
    list_processes: Callable[[], Sequence[int]],
    events: Sequence[str],
    filters: Mapping[str, str] = MappingProxyType({}),
) -> tuple[AttachedPerf, Sequence[int]]:
    """Attach perf to a program and its children, with disabled counters; return it and those processes.

    If a child ends meanwhile, perf gives up. After some attempts, the children are stopped for that moment.

    Parameters
    ----------
    list_processes
        Returns the program and its children, as they are now.
    filters
        Further events, which are tracepoints, and what of each is counted.

    Raises
    ------
    AttachError
        perf cannot attach; the message says why.
    """
    for _ in range(_MAX_ATTEMPTS):
        processes = list_processes()
        if not processes:
            raise AttachError("the program could not be found")
        with suppress(_ChildEndedError):
            return _attach_to(processes, events, filters, list_processes), processes
    with _stop_children(list_processes) as stopped_processes:
        processes = stopped_processes
        # A child that was about to end does so although it was stopped; there are fewer each time.
        for _ in stopped_processes:
            with suppress(_ChildEndedError):
                return _attach_to(processes, events, filters, list_processes), processes
            processes = list_processes()
    raise AttachError("its children end faster than perf can attach to them")


def _attach_to(
    processes: Sequence[int],
    events: Sequence[str],
    filters: Mapping[str, str],
    list_processes: Callable[[], Sequence[int]],
) -> AttachedPerf:
    """Attach perf to processes, and wait until it has attached.

    Raises
    ------
    _ChildEndedError
        One of the processes, or a thread of one, has ended meanwhile.
    """
    perf = AttachedPerf(processes, events, filters)
    try:
        perf.send_command("disable")  # perf starts disabled; the answer shows that it has attached.
    except AttachError as error:
        perf.close()
        # A process has ended, or a thread of one.
        if set(processes) - set(list_processes()) or os.strerror(errno.ESRCH) in str(error):
            raise _ChildEndedError from None
        raise
    return perf


class _ChildEndedError(Exception):
    """A child of the program has ended while perf was to be attached to it."""


@contextmanager
def _stop_children(list_processes: Callable[[], Sequence[int]]) -> Iterator[list[int]]:
    """Stop the children of a program, which itself waits; yield the program and its children."""
    stopped_children: list[int] = []
    try:
        processes = list(list_processes())
        # A child can start others until it is stopped itself.
        while new_children := [child for child in processes[1:] if child not in stopped_children]:
            for child in new_children:
                with suppress(OSError):
                    os.kill(child, signal.SIGSTOP)
            stopped_children += new_children
            processes = list(list_processes())
        yield processes
    finally:
        for child in stopped_children:
            with suppress(OSError):
                os.kill(child, signal.SIGCONT)


def list_descendants_in_order(pid: int) -> list[int]:
    """Return all live descendants of a process from /proc, parents first, without the process itself."""
    processes: list[int] = []
    queue = [pid]
    while queue:
        parent = queue.pop(0)
        children = sorted(list_children(parent))
        processes += children
        queue += children
    return processes
