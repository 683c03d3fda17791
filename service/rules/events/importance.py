"""Ranks events by importance: size × price × number of series × certainty × direction.

``importance = log2(1 + size) · log2(1 + price) · log2(1 + series) · certainty · direction``, with the size in percent
and the price in microseconds. Each factor grows with its own term only, so an event that is not smaller than another in
any term never ranks below it. The logarithms keep one term from dominating: a count that grows from 1 to 10 faults is a
large, but cheap change, and ranks below a count that grows from one million to one and a half. An event that made
nothing worse leaves nothing to repair, so it ranks below a regression that is a little smaller or still suspected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2

from service.rules.events.leading_drift import choose_leading_drift, decide_direction
from service.rules.fault_price import UNMEASURED_FAULT_SECONDS
from service.schemas.certainty import Certainty, decide_certainty
from service.schemas.history import Drift

MAX_SIZE_PERCENT = 10_000.0
"""The largest size of a change, in percent: larger changes, and changes from zero, count as this."""
PAGE_BYTES = 4096
"""The usual page size: memory counts as the faults of its pages."""
UNPRICED_SECONDS = 1e-3
"""The price of a change that has no price in faults, such as a change of a rate: that of two thousand faults."""
_CERTAINTY_WEIGHTS: Mapping[Certainty, float] = {
    Certainty.PROVISIONAL: 0.25,
    Certainty.COMMIT_RANGE: 0.75,
    Certainty.SINGLE_COMMIT: 0.9,
    Certainty.CONFIRMED: 0.9,
    Certainty.PROVEN: 1.0,
}
_IMPROVEMENT_WEIGHT = 0.25
"""The weight of an event that made nothing worse: that of a suspicion."""


@dataclass(frozen=True, slots=True)
class EventTerms:
    """The factors of the importance of an event.

    Attributes
    ----------
    size
        The largest change of the event in percent of the level before, at most :data:`MAX_SIZE_PERCENT`.
    price
        The price of its most expensive change, in seconds of CPU time per execution; estimated if it was not measured.
    n_series
        The number of series that moved.
    certainty
        How certain its cause is.
    has_regressions
        Whether the event made something worse.
    """

    size: float
    price: float
    n_series: int
    certainty: Certainty
    has_regressions: bool = True


def compute_importance(terms: EventTerms) -> float:
    """Return the importance of an event: zero or more, without an upper bound."""
    size = log2(1 + min(terms.size, MAX_SIZE_PERCENT))
    price = log2(1 + terms.price / 1e-6)  # in microseconds
    n_series = max(terms.n_series, 1)  # a shift of a whole suite has no series
    direction = 1.0 if terms.has_regressions else _IMPROVEMENT_WEIGHT
    return size * price * log2(1 + n_series) * _CERTAINTY_WEIGHTS[terms.certainty] * direction


def compute_terms(drifts: Sequence[Drift], *, proven: bool) -> EventTerms:
    """Return the terms of an event.

    Parameters
    ----------
    drifts
        The original drifts of the event, at least one.
    proven
        Whether a bisect has proven its commits.
    """
    leading_drift = choose_leading_drift(drifts)
    is_certain = any(not drift.evidence.wants_rerun for drift in drifts)
    proven = proven or leading_drift.certainty is Certainty.PROVEN
    return EventTerms(
        size=max(_compute_capped_size(drift) for drift in drifts),
        price=max(_find_or_estimate_price(drift) for drift in drifts),
        n_series=len({drift.series_id for drift in drifts if drift.series_id}),
        certainty=decide_certainty(
            leading_drift.cause,
            len(leading_drift.candidates),
            certain=is_certain,
            all_known=leading_drift.candidates_known,
            proven=proven,
        ),
        has_regressions=decide_direction(drifts).has_regressions,
    )


def _compute_capped_size(drift: Drift) -> float:
    """Return the size of a drift in percent, capped; the cap for a rise from zero, which has no percentage."""
    return MAX_SIZE_PERCENT if drift.percent is None else min(abs(drift.percent), MAX_SIZE_PERCENT)


def _find_or_estimate_price(drift: Drift) -> float:
    """Return the price of a drift in CPU seconds, estimated from its size if it was not measured."""
    if drift.price is not None:
        return abs(drift.price.seconds)
    size = abs(float(drift.change))
    if drift.unit == "s":
        return size
    if drift.unit == "faults":
        return size * UNMEASURED_FAULT_SECONDS
    if drift.unit == "bytes":
        return size / PAGE_BYTES * UNMEASURED_FAULT_SECONDS
    return UNPRICED_SECONDS
