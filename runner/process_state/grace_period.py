"""Expedites the RCU grace period of the kernel, for which moving a process to another control group waits.

It lasts ten milliseconds or more, longer than everything else at the start of a sample; expedited, less than one.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from runner.system.tree import Tree

_SWITCH = "sys/kernel/rcu_expedited"


@contextmanager
def expedited(tree: Tree) -> Iterator[None]:
    """Expedite grace periods for a moment in which nothing is measured. If that is not allowed, nothing changes.

    Expediting interrupts all processors, so it must not stay switched on. Concurrent users wait for each other, so that
    none of them restores a value that another one has set.
    """
    try:
        switch = os.open(tree.path(_SWITCH), os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield
        return
    try:
        fcntl.flock(switch, fcntl.LOCK_EX)
        before = os.pread(switch, 16, 0)
        os.pwrite(switch, b"1", 0)
        try:
            yield
        finally:
            os.pwrite(switch, before, 0)
    finally:
        os.close(switch)
