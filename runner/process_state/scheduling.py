"""The scheduling policy of a process."""

import os


class RoundRobin:
    """Round-robin scheduling, before all ordinary processes, so that other work takes no time from a comparison.

    A nice value does not suffice: with autogroups, it has an effect only within a session, and each execution has its
    own session. The policy is not FIFO, so that a program that spins on every processor leaves the runner time to kill
    it.
    """

    setting = "process.scheduling"
    target = "round-robin"
    remedy = "use the capability CAP_SYS_NICE, or a limit on real-time priorities (ulimit -r)"

    def __init__(self) -> None:
        self._previous_policy = (os.SCHED_OTHER, os.sched_param(0))

    def read_value(self) -> str:
        """Return ``round-robin``, or ``ordinary``."""
        return "round-robin" if os.sched_getscheduler(0) == os.SCHED_RR else "ordinary"

    def apply(self) -> None:
        """Switch to round-robin scheduling."""
        previous_policy = (os.sched_getscheduler(0), os.sched_getparam(0))
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
        self._previous_policy = previous_policy

    def undo(self) -> None:
        """Restore the previous policy."""
        os.sched_setscheduler(0, *self._previous_policy)
