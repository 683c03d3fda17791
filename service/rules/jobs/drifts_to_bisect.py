"""Decides which drifts of a subject are bisected next: those that several commits can have caused. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract import metric
from service.rules.bisect import cost
from service.rules.series.suite_shift import NO_SERIES
from service.schemas.history import Cause, Direction, Drift
from service.schemas.triage import BisectPolicy

MOST_OPEN = 1
"""How many bisects that the service ordered by itself may be open at a time, for each subject."""
MOST_A_DAY = 4
"""How many of them the service orders within 24 hours, for each subject."""
MOST_RUNS = 200
"""How many runs may be measured for one of them: a noisy metric can take that many."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OrderedBisect:
    """A bisect that the service ordered by itself."""

    created_at: datetime
    open: bool


@dataclass(frozen=True, slots=True)
class OpenEvent:
    """An event on which somebody still has to act.

    Attributes
    ----------
    drifts
        Its drifts that are found.
    bisected
        Whether a bisect was ordered for one of them, by whomever and with whatever result.
    """

    drifts: Sequence[Drift]
    silenced: bool
    bisected: bool


def may_order(policy: BisectPolicy, ordered: Iterable[OrderedBisect], now: datetime) -> bool:
    """Return whether the service may order another bisect for a subject by itself."""
    recent = [bisect for bisect in ordered if bisect.open or bisect.created_at > now - DAY]
    within_day = sum(bisect.created_at > now - DAY for bisect in recent)
    return policy is BisectPolicy.DO and sum(bisect.open for bisect in recent) < MOST_OPEN and within_day < MOST_A_DAY


def drift_to_order(events: Iterable[OpenEvent], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the drift for which the service orders the next bisect; None where there is none.

    Regressions that exceed their budget come first.

    Parameters
    ----------
    events
        The newest first.
    is_measurable
        Returns whether a host can measure the drift's case.
    """
    waiting = [event for event in events if not event.silenced and not event.bisected]
    drifts = [drift for event in waiting if (drift := drift_to_bisect(event.drifts, is_measurable)) is not None]
    return min(
        drifts, key=lambda drift: (drift.direction is not Direction.REGRESSION, drift.within_budget), default=None
    )


def drift_to_bisect(drifts: Iterable[Drift], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the drift of an event whose bisect tells its commit with the fewest runs; None where no bisect helps.

    A single candidate needs no bisect; neither a commit nor a bisect explains a change of the configuration; and a
    suspicion may end by itself.
    """
    unclear = [
        drift
        for drift in drifts
        if drift.series_id != NO_SERIES
        and drift.cause is Cause.COMMIT
        and not drift.evidence.wants_rerun
        and (len(drift.candidates) > 1 or not drift.candidates_known)
    ]
    in_order = sorted(
        unclear,
        key=lambda drift: (
            not metric(drift.metric).exact,
            not drift.candidates_known,
            len(drift.candidates),
            -abs(drift.percent or 0),
            drift.id,
        ),
    )
    return next((drift for drift in in_order if is_measurable(drift)), None)


def expected_runs(drift: Drift) -> int | None:
    """Return how many runs its bisect is expected to take, without the proof; None where that is unknown."""
    if not drift.candidates_known or not metric(drift.metric).exact:
        return None
    return cost.expected_runs(len(drift.candidates))
