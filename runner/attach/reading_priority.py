"""Gives way to the host's own work while recordings are read, which takes seconds of CPU time."""

import os

from runner.system.tree import Tree

_NICENESS = 10
"""The niceness on a busy host: idle time alone would never be enough there."""
_MIN_IDLE_PROCESSORS = 0.2
"""From so many idle processors on, their idle time is enough to read recordings in."""
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_IDLE_FIELDS = slice(4, 6)
"""The fields of ``/proc/stat`` with idle time, and with that in which storage is waited for."""


def read_idle_seconds(tree: Tree) -> float:
    """Return the seconds that all processors together have been idle since the host started."""
    fields = (tree.read_text("proc/stat", 1000) or "").partition("\n")[0].split()
    return sum(int(field) for field in fields[_IDLE_FIELDS] if field.isdecimal()) / _TICKS_PER_SECOND


def lower_priority(idle_processors: float) -> None:
    """Lower the priority of this process and of those that it starts, as far as it still makes progress.

    At the lowest, every other thread that wakes up takes the processor at once; a nice process keeps it for
    milliseconds, which a server that answers in microseconds notices.

    Parameters
    ----------
    idle_processors
        How many processors were idle during the observation, on average.
    """
    if idle_processors >= _MIN_IDLE_PROCESSORS:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # 0 is this process
    else:
        os.setpriority(os.PRIO_PROCESS, 0, _NICENESS)
