"""Lets a thread run only in time that the host's processors do not need for anything else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from runner.system.capabilities import SYS_NICE, has_capability
from runner.system.tree import Tree

_MAX_LOAD_PER_PROCESSOR = 0.75
"""Above this load, processors are idle so rarely that a thread that uses only this time would wait for long."""
_ORDINARY_PRIORITY = os.sched_param(0)


@contextmanager
def use_idle_time(tree: Tree) -> Iterator[None]:
    """Let this thread use only idle time within the context.

    It then takes hardly any time from the other programs of the host: they need not share a processor with it. This
    does nothing if the host is too busy, or if this process could not raise its priority again.
    """
    is_ordinary = os.sched_getscheduler(0) == os.SCHED_OTHER
    is_changed = is_ordinary and has_capability(tree, SYS_NICE) and switch_to_idle_time(tree)
    try:
        yield
    finally:
        if is_changed:
            os.sched_setscheduler(0, os.SCHED_OTHER, _ORDINARY_PRIORITY)


def switch_to_idle_time(tree: Tree) -> bool:
    """Let this thread, and the programs that it starts, use only idle time from now on.

    Return False, without an effect, if the host is too busy or forbids it.
    """
    if not has_idle_time(tree):
        return False
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, _ORDINARY_PRIORITY)
        return True
    return False


def has_idle_time(tree: Tree) -> bool:
    """Return whether the processors were idle for a considerable part of the last minute; False if this is unknown."""
    load = next(iter((tree.read_text("proc/loadavg") or "").split()), "inf")
    return float(load) <= _MAX_LOAD_PER_PROCESSOR * (os.cpu_count() or 1)
