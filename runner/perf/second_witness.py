"""Compares what perf counted of a program with the kernel's own account of it. Pure.

The two never agree exactly, and most differences are right:

- The kernel's account has the faults that it takes to prepare memory at once, as for ``MAP_POPULATE``, ``mlock`` and
  the arguments of a program. perf does not count these.
- It has the faults inside of the kernel. Where this user may count in user space only, perf does not count these.
- It has the release of all memory at the end of a process, which takes time; perf may have ended before.
- It lacks children that nobody waited for. perf counts these.

So the kernel may well know of more faults than perf, but not of more faults *and* of much more processor time. That
happens only if perf did not see a program at all: the kernel takes the counters from a program that changes its user,
or that its user may not read. Such a program that takes little of either is found, whatever it takes, when the case is
watched before its first sample (:mod:`runner.measuring.watched_execution`).
"""

from msgspec import Struct

from runner.contract.number_text import quantity

FEW_FAULTS = 16
SHARE_OF_FAULTS = 0.1
SHARE_OF_TIME = 0.7


class Account(Struct, frozen=True):
    """Faults, minor and major, and seconds of processor time."""

    faults: int | float
    seconds: float


def objection(perf: Account, kernel: Account) -> str:
    """Return why the count of perf is not right, as the second half of a sentence; empty if it is."""
    missing = kernel.faults - perf.faults
    unseen = kernel.seconds - perf.seconds
    if missing <= max(FEW_FAULTS, SHARE_OF_FAULTS * kernel.faults) or unseen <= SHARE_OF_TIME * kernel.seconds:
        return ""
    return (
        f"took {kernel.faults:,} faults and {quantity(kernel.seconds, 's')} by the kernel's account, of which perf "
        f"counted {perf.faults:,} and {quantity(perf.seconds, 's')}: the kernel hides programs from perf that change "
        "their user (set-user-ID) or that this user may not read"
    )
