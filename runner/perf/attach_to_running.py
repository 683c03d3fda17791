"""Attaches perf to running programs and all their children."""

import errno
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import MappingProxyType

from runner.perf.attached_perf import AttachedPerf, AttachError
from runner.system.descendants import list_children

_MAX_ATTEMPTS = 3
"""How many times perf tries to attach to running children, some of which may end, before the children are stopped."""


def attach_to_running(
    list_processes: Callable[[], Sequence[int]],
    events: Sequence[str],
    filters: Mapping[str, str] = MappingProxyType({}),
) -> tuple[AttachedPerf, Sequence[int]]:
    """Attach perf to a program and its children, with disabled counters; return perf and these processes.

    perf gives up if a child ends while it attaches. After some attempts, the children are stopped while it attaches.

    Parameters
    ----------
    list_processes
        Returns the program and its present children.
    filters
        Tracepoints to count in addition to ``events``, each with the filter that selects what is counted.

    Raises
    ------
    AttachError
        perf cannot attach; the message says why.
    """
    for _ in range(_MAX_ATTEMPTS):
        processes = list_processes()
        if not processes:
            raise AttachError("the program is no longer running")
        with suppress(_ChildEndedError):
            return _attach_perf(processes, events, filters, list_processes), processes
    with _stop_children(list_processes) as stopped_processes:
        processes = stopped_processes
        # A child that was about to end can still end after it was stopped, so retry; there are fewer each time.
        for _ in stopped_processes:
            with suppress(_ChildEndedError):
                return _attach_perf(processes, events, filters, list_processes), processes
            processes = list_processes()
    raise AttachError("the program's children end faster than perf can attach to them")


def _attach_perf(
    processes: Sequence[int],
    events: Sequence[str],
    filters: Mapping[str, str],
    list_processes: Callable[[], Sequence[int]],
) -> AttachedPerf:
    """Attach perf to processes, and wait until it has attached.

    Raises
    ------
    _ChildEndedError
        One of the processes or threads has ended while perf attached.
    AttachError
        perf cannot attach for another reason; the message says why.
    """
    perf = AttachedPerf(processes, events, filters)
    try:
        perf.send_command("disable")  # It is disabled already, but the answer shows that it has attached.
    except AttachError as error:
        perf.close()
        # Has a process ended, or a thread of a process?
        if set(processes) - set(list_processes()) or os.strerror(errno.ESRCH) in str(error):
            raise _ChildEndedError from None
        raise
    return perf


class _ChildEndedError(Exception):
    """A child of the program ended before perf was attached to it."""


@contextmanager
def _stop_children(list_processes: Callable[[], Sequence[int]]) -> Iterator[list[int]]:
    """Stop the children of a program that is waiting; yield the program and its children."""
    stopped_children: list[int] = []
    try:
        processes = list(list_processes())
        # The first process is the program itself. A child can start others until it is stopped.
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
