"""Chooses the drift that leads an event and the event's direction; suspected drifts count only if none is certain."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.series.suite_shift_drift import NO_SERIES
from service.schemas.history import Drift
from service.schemas.triage import EventDirection, EventDrift

PERCENT_FROM_ZERO = 10**9
"""The size of a change from zero, in percent: larger than any other."""


def compute_size(drift: Drift) -> float:
    """Return the size of a drift in percent of the level before it, so that metrics are comparable."""
    if drift.series_id == NO_SERIES:
        return 0  # the levels of a shift of a whole suite are relative to zero, so it is no percentage of them
    return _compute_percent(drift)


def choose_leading_drift(drifts: Sequence[Drift]) -> Drift:
    """Return the drift that represents an event: the largest certain one; if none is certain, the largest of all.

    The event has at least one drift.
    """
    return min(drifts, key=lambda drift: (drift.evidence.wants_rerun, -compute_size(drift), drift.case, drift.id))


def choose_leading_event_drift(drifts: Sequence[EventDrift]) -> EventDrift | None:
    """Return the drift of a series that represents an event; None if no drift belongs to a series."""
    return min(
        (drift for drift in drifts if drift.drift_id is not None),
        key=lambda drift: (drift.wants_rerun, -_compute_percent(drift), drift.case, drift.drift_id),
        default=None,
    )


def decide_direction(drifts: Sequence[Drift]) -> EventDirection:
    """Return the direction of an event, given at least one drift; suspected drifts do not count beside certain ones."""
    certain_drifts = [drift for drift in drifts if not drift.evidence.wants_rerun]
    directions = {drift.direction for drift in certain_drifts or drifts}
    return EventDirection(directions.pop().value) if len(directions) == 1 else EventDirection.MIXED


def _compute_percent(drift: Drift | EventDrift) -> float:
    """Return the size of a drift in percent; :data:`PERCENT_FROM_ZERO` if the level before it is zero."""
    return PERCENT_FROM_ZERO if drift.percent is None else abs(drift.percent)
