"""Decides whether a bisect is ordered again: a failed one is repeated on later days, three times at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract.job import State

MAX_ATTEMPTS = 3
"""How often the service orders a bisect of one event if each fails; earlier measurements are not repeated."""
_ATTEMPT_INTERVAL = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OrderedBisect:
    """A bisect that was ordered.

    Attributes
    ----------
    by_service
        Whether the service ordered it, rather than a person.
    runs
        How many runs were measured for it.
    ended_at
        The time at which it ended; None while it is open.
    """

    created_at: datetime
    state: State
    runs: int = 0
    ended_at: datetime | None = None
    by_service: bool = True

    @property
    def fruitless(self) -> bool:
        """Whether it failed without a run."""
        return self.state is State.FAILED and not self.runs


def may_repeat_bisects(bisects: Sequence[OrderedBisect], now: datetime) -> bool:
    """Return whether the service may order another bisect of an event after those that were ordered before.

    A completed bisect has found everything that measurements can show, and a cancelled one is not wanted. Whether to
    repeat a bisect that a person ordered is left to that person. A failed bisect is repeated on later days, a limited
    number of times.
    """
    failed_bisects = [bisect for bisect in bisects if bisect.by_service and bisect.state is State.FAILED]
    if len(failed_bisects) < len(bisects) or len(failed_bisects) >= MAX_ATTEMPTS:
        return False
    return all(bisect.ended_at is not None and bisect.ended_at <= now - _ATTEMPT_INTERVAL for bisect in failed_bisects)
