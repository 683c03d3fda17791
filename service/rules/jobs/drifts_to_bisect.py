"""Decides which drifts of a subject are bisected next: suspected drifts, and drifts whose commit is not proven."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from runner.contract import get_metric
from service.rules.bisect import cost
from service.rules.jobs.bisect_exclusions import OpenEvent, may_bisect_event
from service.rules.relative_change import compute_change_rank
from service.rules.series.suite_shift_drift import NO_SERIES
from service.schemas.history import Cause, Drift


def choose_drift_to_order(
    events: Iterable[OpenEvent], is_measurable: Callable[[Drift], bool], now: datetime
) -> Drift | None:
    """Return the drift for which the service orders the next bisect; None if there is none.

    Of each event, that is a certain drift whose commit is unknown, else one with a single candidate to prove, else a
    suspected one that the bisect confirms or refutes.

    Parameters
    ----------
    events
        Open events, most important first.
    is_measurable
        Returns whether a host can measure the drift's case now.
    """
    candidate_events = (event for event in events if may_bisect_event(event, now))
    chosen_drifts = (
        choose_drift_to_bisect(event.drifts, is_measurable)
        or choose_drift_to_prove(event.drifts, is_measurable)
        or choose_drift_to_settle(event.drifts, is_measurable)
        for event in candidate_events
    )
    return next((drift for drift in chosen_drifts if drift is not None), None)


def choose_drift_to_bisect(drifts: Iterable[Drift], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the drift of an event whose bisect finds the commit with the fewest runs; None if no bisect helps.

    A single candidate needs no bisect, a bisect of commits cannot explain a configuration change, and a suspected
    change has to be confirmed first.
    """
    unexplained_drifts = [drift for drift in drifts if len(drift.candidates) > 1 or not drift.candidates_known]
    return _choose_cheapest([drift for drift in unexplained_drifts if not drift.evidence.wants_rerun], is_measurable)


def choose_drift_to_prove(drifts: Iterable[Drift], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the drift with a single candidate that takes the fewest runs to prove; None if there is none.

    A single candidate is not yet proven, because other changes on the host between the two runs may have moved the
    level. Measuring it interleaved with its parent proves it. Suspected drifts are for :func:`choose_drift_to_settle`.
    """
    single_candidate_drifts = [drift for drift in drifts if len(drift.candidates) == 1 and drift.candidates_known]
    return _choose_cheapest(
        [drift for drift in single_candidate_drifts if not drift.evidence.wants_rerun], is_measurable
    )


def choose_drift_to_settle(drifts: Iterable[Drift], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the drift of a suspected event that takes the fewest runs to settle; None if one of its drifts is certain.

    The stored runs only nominate the drift. A bisect, which measures both of its ends, decides whether it is a change,
    and finds the commit.
    """
    suspected_drifts = list(drifts)
    if not all(drift.evidence.wants_rerun for drift in suspected_drifts):
        return None
    return _choose_cheapest(suspected_drifts, is_measurable)


def _choose_cheapest(drifts: Iterable[Drift], is_measurable: Callable[[Drift], bool]) -> Drift | None:
    """Return the measurable drift caused by commits whose bisect takes the fewest runs; None if there is none.

    Exact metrics and few candidates take the fewest, and then large changes.
    """
    cheapest_first = sorted(
        (drift for drift in drifts if drift.series_id != NO_SERIES and drift.cause is Cause.COMMIT),
        key=lambda drift: (
            not get_metric(drift.metric).exact,
            not drift.candidates_known,
            len(drift.candidates),
            -compute_change_rank(drift.change, drift.before),
            drift.id,
        ),
    )
    return next((drift for drift in cheapest_first if is_measurable(drift)), None)


def estimate_drift_runs(drift: Drift) -> int | None:
    """Return how many runs the bisect of a drift is expected to take, without the proof; None if it is unknown."""
    if not drift.candidates_known or not get_metric(drift.metric).exact:
        return None
    return cost.estimate_runs(len(drift.candidates))
