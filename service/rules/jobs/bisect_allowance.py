"""Decides what the bisect policy of a subject allows, and how many runs a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from service.rules.jobs.repeated_bisects import OrderedBisect
from service.schemas.triage import BisectPolicy

MAX_OPEN_BISECTS = 1
"""How many bisects ordered by the service may be open at the same time, for each subject."""
MAX_BISECTS_A_DAY = 24
"""How many bisects the service orders within 24 hours for each subject: a bisect that finds nothing takes few runs."""
MAX_RUNS = 200
"""How many runs one of these bisects may measure: a noisy metric can take as many."""
MIN_RUNS = 10
"""A bisect is ordered only if at least this many of the day's runs are left: most bisects of counts need no more."""
MAX_FRUITLESS_BISECTS = 3
"""After this many successive bisects that failed without a run, the service orders no more until the next day."""
DAY = timedelta(days=1)


def offers_bisects(policy: BisectPolicy) -> bool:
    """Return whether an event shows the bisect that it needs."""
    return policy is not BisectPolicy.OFF


def orders_bisects(policy: BisectPolicy) -> bool:
    """Return whether the service orders bisects without being asked."""
    return policy is BisectPolicy.DO


def count_allowed_runs(
    policy: BisectPolicy, ordered_bisects: Iterable[OrderedBisect], now: datetime, runs_a_day: int
) -> int:
    """Return how many runs the next bisect ordered by the service may take; 0 if it may order none.

    Parameters
    ----------
    ordered_bisects
        The bisects of the subject that the service ordered.
    runs_a_day
        How many runs all of these bisects may take within 24 hours.
    """
    recent_bisects = sorted(
        (bisect for bisect in ordered_bisects if bisect.state.open or bisect.created_at > now - DAY),
        key=lambda bisect: bisect.created_at,
    )
    is_stuck = len(recent_bisects) >= MAX_FRUITLESS_BISECTS and all(
        bisect.fruitless for bisect in recent_bisects[-MAX_FRUITLESS_BISECTS:]
    )
    has_too_many = (
        sum(bisect.state.open for bisect in recent_bisects) >= MAX_OPEN_BISECTS
        or len(recent_bisects) >= MAX_BISECTS_A_DAY
    )
    if not orders_bisects(policy) or has_too_many or is_stuck:
        return 0
    remaining_runs = runs_a_day - sum(bisect.runs for bisect in recent_bisects)
    return min(remaining_runs, MAX_RUNS) if remaining_runs >= min(MIN_RUNS, runs_a_day) else 0
