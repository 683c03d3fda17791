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
"""How often perf is attached while children of the program come and go, before they are stopped for that."""


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
        program = list_processes()
        if not program:
            raise AttachError("the program could not be found")
        with suppress(_ChildEndedError):
            return _attach_to(program, events, filters, list_processes), program
    with _stop_children(list_processes) as stopped:
        program = stopped
        # A child that was about to end does so although it was stopped; there are fewer each time.
        for _ in stopped:
            with suppress(_ChildEndedError):
                return _attach_to(program, events, filters, list_processes), program
            program = list_processes()
    raise AttachError("its children end faster than perf can attach to them")


def _attach_to(
    program: Sequence[int],
    events: Sequence[str],
    filters: Mapping[str, str],
    list_processes: Callable[[], Sequence[int]],
) -> AttachedPerf:
    perf = AttachedPerf(program, events, filters)
    try:
        perf.send_command("disable")  # It is disabled; the answer shows that perf has attached.
    except AttachError as error:
        perf.close()
        # A process has ended, or a thread of one.
        if set(program) - set(list_processes()) or os.strerror(errno.ESRCH) in str(error):
            raise _ChildEndedError from None
        raise
    return perf


class _ChildEndedError(Exception):
    """A child of the program has ended while perf was to be attached to it."""


@contextmanager
def _stop_children(find: Callable[[], Sequence[int]]) -> Iterator[list[int]]:
    """Stop the children of a program, which itself waits; yield the program and its children."""
    stopped: list[int] = []
    try:
        program = list(find())
        # A child can start others until it is stopped itself.
        while new := [child for child in program[1:] if child not in stopped]:
            for child in new:
                with suppress(OSError):
                    os.kill(child, signal.SIGSTOP)
            stopped += new
            program = list(find())
        yield program
    finally:
        for child in stopped:
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
