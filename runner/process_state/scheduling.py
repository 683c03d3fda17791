"""The scheduling policy of a process."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_BACKGROUND_POLICIES = {os.SCHED_BATCH: "batch", os.SCHED_IDLE: "idle"}
"""The policies of programs that are not urgent, with their names."""


class ForegroundScheduling:
    """No policy for work in the background: a program would otherwise wait for all others of the host.

    Measured programs would inherit such a policy from the runner, for example from a service with
    ``CPUSchedulingPolicy=idle``. A real-time policy is kept, because comparisons use one (:class:`RoundRobin`).
    """

    setting = "process.scheduling"
    target = "ordinary"
    remedy = "start the runner with neither chrt nor CPUSchedulingPolicy=, or start it as root"

    def __init__(self) -> None:
        self._previous_policy: int | None = None

    def read_value(self) -> str:
        """Return ``batch`` or ``idle``, or ``ordinary`` for any other policy."""
        return _BACKGROUND_POLICIES.get(_get_policy(), self.target)

    def apply(self) -> None:
        """Switch to ordinary scheduling if the policy is one for work in the background."""
        policy = _get_policy()
        if policy in _BACKGROUND_POLICIES:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
            self._previous_policy = policy

    def undo(self) -> None:
        """Restore the policy."""
        if self._previous_policy is not None:
            os.sched_setscheduler(0, self._previous_policy, os.sched_param(0))


class RoundRobin:
    """Round-robin scheduling, before all ordinary processes, so that other work takes no time from a comparison.

    A nice value does not suffice: with autogroups, it has an effect only within a session, and each execution has its
    own session. The policy is not FIFO, so that a program that spins on every processor leaves the runner time to kill
    it.
    """

    setting = "process.scheduling"
    target = "round-robin"
    remedy = "grant the runner CAP_SYS_NICE, or raise its limit on real-time priorities (ulimit -r)"

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


def _get_policy() -> int:
    """Return the scheduling policy of this thread, without its flag."""
    return os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK


@contextmanager
def raise_priority() -> Iterator[None]:
    """Give this process priority over the host's other processes within the context, if this user is allowed to."""
    scheduling = RoundRobin()
    is_raised = False
    with suppress(OSError):
        scheduling.apply()
        is_raised = True
    try:
        yield
    finally:
        if is_raised:
            scheduling.undo()
