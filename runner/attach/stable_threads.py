"""Chooses the threads to which perf attaches: those that are old enough to probably exist still."""

import time
from collections.abc import Sequence

from runner.attach.live_figures import TICKS_PER_SECOND, list_threads
from runner.system.tree import Tree

_START_FIELD = 19
"""The index of the start time among the fields of ``stat`` after the name."""
_STABLE_SECONDS = 2.0
"""The age in seconds at which a thread is considered permanent."""


def list_stable_threads(tree: Tree, pids: Sequence[int]) -> list[int]:
    """Return the threads that are old enough to probably still exist when perf has attached to them.

    A young thread may serve a connection, and end soon. Later threads are recorded too, together with the thread that
    starts them. If all threads are young, all are returned.
    """
    now_ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * TICKS_PER_SECOND
    start_ticks: dict[int, int] = {}
    for pid in pids:
        for name in list_threads(tree, pid):
            fields = (tree.read_text(f"proc/{pid}/task/{name}/stat") or "").rpartition(")")[2].split()
            if len(fields) > _START_FIELD and fields[0] not in "ZX":  # neither a zombie nor dead
                start_ticks[int(name)] = int(fields[_START_FIELD])
    stable_threads = [
        thread for thread, ticks in start_ticks.items() if now_ticks - ticks >= _STABLE_SECONDS * TICKS_PER_SECOND
    ]
    return stable_threads or list(start_ticks)
