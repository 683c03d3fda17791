"""The wait for a grace period of the kernel's RCU, which moving a process to another control group takes.

It lasts ten milliseconds and more, longer than all else that a sample begins with; expedited, a fraction of one.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from runner.system.tree import Tree

_SWITCH = "sys/kernel/rcu_expedited"


@contextmanager
def expedited(tree: Tree) -> Iterator[None]:
    """Let the kernel hurry for a moment, in which nothing is measured. Where that is not allowed, nothing changes.

    Hurrying interrupts all processors, which is why it is no setting to leave as it is. Others who do the same wait for
    each other: else one of them would put back what another one has set.
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
