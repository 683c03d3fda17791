"""Whether a process waits for others that want its processor."""

import os


class RoundRobin:
    """Before all ordinary processes: what else the host does takes no time from a comparison.

    Not by niceness: the kernel's autogroups weigh nice levels within a session only, and each execution has its own.
    In turns with its equals, so that a program that spins on every processor leaves the runner the time to end it.
    """

    knob = "process.scheduling"
    wanted = "round-robin"
    remedy = "the capability CAP_SYS_NICE, or a limit on real-time priorities (ulimit -r), can"

    def __init__(self) -> None:
        self._before = (os.SCHED_OTHER, os.sched_param(0))

    def show(self) -> str:
        """Return ``round-robin``, or ``ordinary``."""
        return "round-robin" if os.sched_getscheduler(0) == os.SCHED_RR else "ordinary"

    def apply(self) -> None:
        """Go before ordinary processes."""
        before = (os.sched_getscheduler(0), os.sched_getparam(0))
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        self._before = before

    def undo(self) -> None:
        """Be as before."""
        os.sched_setscheduler(0, *self._before)
