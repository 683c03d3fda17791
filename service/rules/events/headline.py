"""Describes an event in words: what moved, by how much, and where. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.contract import metric
from service.rules.series.suite_shift import NO_SERIES
from service.schemas.history import Direction, Drift
from service.text.numbers import unit_of

FROM_ZERO = 10**9
"""The size of a change from a zero baseline, in percent: nothing is larger."""


def size(drift: Drift) -> float:
    """Return the size of a drift, comparable between metrics: in percent of its level, where it has one."""
    if drift.series_id == NO_SERIES:
        return 0
    return FROM_ZERO if drift.percent is None else abs(drift.percent)


def leading_drift(drifts: Sequence[Drift]) -> Drift:
    """Return the drift that represents an event: a regression before an improvement, then the largest."""
    return min(
        drifts, key=lambda drift: (drift.direction is not Direction.REGRESSION, -size(drift), drift.case, drift.id)
    )


def headline(drifts: Sequence[Drift]) -> str:
    """Describe in one line what moved, by how much, and where."""
    first = leading_drift(drifts)
    change = _change(first)
    if first.percent is not None:
        change += f" ({first.percent:+,.0f} %)" if abs(first.percent) >= 100 else f" ({first.percent:+.3g} %)"
    cases = {(drift.host, drift.case) for drift in drifts}
    more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
    return f"{change} in {first.case}{more}"


def price(drifts: Sequence[Drift]) -> str:
    """Describe what the drift that represents an event is worth in CPU time; empty where that is unknown."""
    worth = leading_drift(drifts).price
    return worth.sentence if worth else ""


def summarise(drifts: Sequence[Drift], returned: Sequence[Drift] = ()) -> dict[str, Any]:
    """Return the part of an event's description that neither decisions nor silences change.

    Parameters
    ----------
    drifts
        The drifts that made the event, one of which represents it.
    returned
        The drifts with which it came back.
    """
    first = leading_drift(drifts)
    every = [*drifts, *returned]
    return {
        "direction": first.direction.value,
        "within_budget": first.direction is Direction.REGRESSION
        and all(drift.within_budget for drift in every if drift.direction is Direction.REGRESSION),
        "headline": headline(drifts),
        "price": price(drifts),
        "revision": first.revision,
        "previous_revision": first.previous_revision,
        "title": first.title,
        "blamed": first.blamed,
        "author": first.author,
        "n_drifts": len(every),
        "n_series": len({drift.series_id for drift in every if drift.series_id}),
        "candidates": [candidate.model_dump(mode="json") for candidate in first.candidates],
        "knobs": [knob.model_dump(mode="json") for knob in first.knobs],
    }


def _change(drift: Drift) -> str:
    """Describe what moved and by how much: ``+4,096 minor faults``, or ``Throughput -12 operations/s``."""
    change = f"{drift.change:+,}" if isinstance(drift.change, int) else f"{drift.change:+,.4g}"
    unit, title = unit_of(drift.change, drift.unit), metric(drift.metric).title
    kind = title.removesuffix(drift.unit)
    return f"{title} {change} {unit}" if kind == title else f"{change} {kind.lower()}{unit}"
