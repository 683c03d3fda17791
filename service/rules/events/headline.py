"""Describes an event in words: what moved, by how much, where, and what else moved with it.

The overview, the list of events, mail, chats, the feed and the API have the same headline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.contract import metric
from runner.contract.number_text import replace_no_break_spaces
from service.rules.series.suite_shift_drift import NO_SERIES
from service.schemas.history import Direction, Drift
from service.schemas.triage import EventDrift
from service.text.numbers import format_difference, format_percent

PERCENT_FROM_ZERO = 10**9
"""The size of a change from a zero baseline, in percent: nothing is larger."""


def compute_size(drift: Drift) -> float:
    """Return the size of a drift, comparable between metrics: in percent of its level, where it has one."""
    if drift.series_id == NO_SERIES:
        return 0
    return _compute_share(drift)


def choose_leading_drift(drifts: Sequence[Drift]) -> Drift:
    """Return the drift that represents an event: what is a fact first, then regressions, then the largest."""
    return min(
        drifts,
        key=lambda drift: (drift.evidence.wants_rerun, _is_better(drift), -compute_size(drift), drift.case, drift.id),
    )


def choose_leading_event_drift(drifts: Sequence[EventDrift]) -> EventDrift | None:
    """Return the drift that represents an event, of those that are in a series; None if there is none."""
    return min(
        (drift for drift in drifts if drift.drift_id is not None),
        key=lambda drift: (drift.wants_rerun, _is_better(drift), -_compute_share(drift), drift.case, drift.drift_id),
        default=None,
    )


def write_headline(drifts: Sequence[Drift]) -> str:
    """Describe in one line what moved, by how much, and where; and what else moved, if it moved further or back.

    If some of it is a fact, the rest says that it is not yet one. If nothing is, the event says so:
    :attr:`EventSummary.full_headline`.
    """
    first = choose_leading_drift(drifts)
    same_direction = [drift for drift in drifts if drift.direction is first.direction]
    opposite = [drift for drift in drifts if drift.direction is not first.direction]
    text = f"{_describe_change(first)} in {first.case}"
    if len(same_direction) > 1:
        largest = _find_largest(same_direction, first.metric)
        goes_further = largest.metric == first.metric and abs(largest.change) > abs(first.change)
        largest_elsewhere = (
            f", up to {_describe_change(largest)} in {largest.case}{_mark_provisional(largest, first)}"
            if goes_further
            else ""
        )
        text += f" and {len(same_direction) - 1:,} more{largest_elsewhere}"
    if opposite:
        largest = _find_largest(opposite, first.metric)
        word = "better" if largest.direction is Direction.IMPROVEMENT else "worse"
        widest = (
            f"{len(opposite):,} {word}, up to {_describe_change(largest)}"
            if len(opposite) > 1
            else f"{word}: {_describe_change(largest)}"
        )
        text += f"; {widest} in {largest.case}{_mark_provisional(largest, first)}"
    return replace_no_break_spaces(text)


def describe_price(drifts: Sequence[Drift]) -> str:
    """Describe what the drift that represents an event is worth in CPU time; empty if that is unknown."""
    worth = choose_leading_drift(drifts).price
    return worth.sentence if worth else ""


def summarise_drifts(drifts: Sequence[Drift], recurrences: Sequence[Drift] = ()) -> dict[str, Any]:
    """Return the part of an event's description that neither decisions nor silences change.

    Parameters
    ----------
    drifts
        The drifts that made the event, one of which represents it.
    recurrences
        The drifts with which it came back.
    """
    first = choose_leading_drift(drifts)
    every = [*drifts, *recurrences]
    return {
        "direction": first.direction.value,
        "within_budget": first.direction is Direction.REGRESSION
        and all(drift.within_budget for drift in every if drift.direction is Direction.REGRESSION),
        "headline": write_headline(drifts),
        "price": describe_price(drifts),
        "revision": first.revision,
        "previous_revision": first.good,
        "first_bad": first.bad,
        "title": first.title,
        "blamed": first.blamed,
        "author": first.author,
        "n_drifts": len(every),
        "pairs": first.evidence.pairs,
        "n_series": len({drift.series_id for drift in every if drift.series_id}),
        "candidates": [candidate.model_dump(mode="json") for candidate in first.candidates],
        "candidates_known": first.candidates_known,
        "settings": [setting.model_dump(mode="json") for setting in first.settings],
    }


def _is_better(drift: Drift | EventDrift) -> bool:
    return drift.direction is not Direction.REGRESSION


def _compute_share(drift: Drift | EventDrift) -> float:
    """Return the size of a drift in percent; a fixed number where the level before is zero."""
    return PERCENT_FROM_ZERO if drift.percent is None else abs(drift.percent)


def _find_largest(drifts: Sequence[Drift], name: str) -> Drift:
    """Return the drift that moved furthest: among those of a metric if there are any, as units do not compare."""
    comparable = [drift for drift in drifts if drift.metric == name and drift.series_id != NO_SERIES]
    if not comparable:
        return choose_leading_drift(drifts)
    return max(comparable, key=lambda drift: (abs(drift.change), compute_size(drift), drift.case, drift.id))


def _mark_provisional(drift: Drift, first: Drift) -> str:
    """Return the words that a drift is suspected, where the first one in the sentence is certain."""
    return " (suspected)" if drift.evidence.wants_rerun and not first.evidence.wants_rerun else ""


def _describe_change(drift: Drift) -> str:
    """Describe what moved and by how much: ``+4,096 minor faults (+99 %)``, or ``Throughput −12 operations/s``."""
    changed, title = format_difference(drift.change, drift.unit), metric(drift.metric).title
    kind = title.removesuffix(drift.unit)
    if kind == title:
        text = f"{title} {changed}"
    else:
        amount, space, unit = changed.partition("\N{NO-BREAK SPACE}")
        text = f"{amount}{space}{kind.lower()}{unit}"
    return text if drift.percent is None else f"{text} ({format_percent(drift.percent)})"
