"""Describes an event in words: what moved, by how much, where, and what else moved with it.

The overview, the list of events, mail, chats, the feed and the API show the same headline.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runner.contract import get_metric
from runner.contract.number_text import format_count, format_difference, format_percent, replace_no_break_spaces
from service.rules.events.leading_drift import choose_leading_drift, compute_size, decide_direction
from service.rules.series.suite_shift_drift import NO_SERIES
from service.schemas.certainty import Certainty
from service.schemas.history import Direction, Drift
from service.schemas.triage import EventSummary


def build_headline(drifts: Sequence[Drift]) -> str:
    """Describe in one line what moved, by how much, and where, with the largest other moves in both directions.

    If the leading drift is certain, the text marks others that are only suspected. If no drift is certain,
    :attr:`EventSummary.full_headline` says so.
    """
    leading_drift = choose_leading_drift(drifts)
    same_direction = [drift for drift in drifts if drift.direction is leading_drift.direction]
    opposite_drifts = [drift for drift in drifts if drift.direction is not leading_drift.direction]
    headline = f"{_describe_change(leading_drift)} in {leading_drift.case}"
    if len(same_direction) > 1:
        largest_drift = _find_largest(same_direction, leading_drift.metric)
        headline += f" and {format_count(len(same_direction) - 1, 'more drift')}"
        if largest_drift.metric == leading_drift.metric and abs(largest_drift.change) > abs(leading_drift.change):
            mark = _mark_provisional(largest_drift, leading_drift)
            is_elsewhere = largest_drift.case == leading_drift.case and largest_drift.host != leading_drift.host
            place = "on another host" if is_elsewhere else f"in {largest_drift.case}"
            headline += f", up to {_describe_change(largest_drift)} {place}{mark}"
    if opposite_drifts:
        largest_drift = _find_largest(opposite_drifts, leading_drift.metric)
        better_or_worse = "better" if largest_drift.direction is Direction.IMPROVEMENT else "worse"
        opposite_clause = f"{better_or_worse}: {_describe_change(largest_drift)}"
        if len(opposite_drifts) > 1:
            opposite_clause = f"{len(opposite_drifts):,} {better_or_worse}, up to {_describe_change(largest_drift)}"
        headline += f"; {opposite_clause} in {largest_drift.case}{_mark_provisional(largest_drift, leading_drift)}"
    return replace_no_break_spaces(headline)


def build_short_headline(leading_drift: Drift, n_alike: int, n_opposite: int) -> str:
    """Describe some drifts of an event by the one that leads them, and by the numbers of drifts in each direction.

    Parameters
    ----------
    n_alike
        The number of drifts in the direction of the leading one, which is among them.
    """
    headline = f"{_describe_change(leading_drift)} in {leading_drift.case}"
    if n_alike > 1:
        headline += f" and {format_count(n_alike - 1, 'more drift')}"
    if n_opposite:
        headline += f"; {n_opposite:,} {'better' if leading_drift.direction is Direction.REGRESSION else 'worse'}"
    return replace_no_break_spaces(headline)


def split_headline(headline: str, leading_case: str) -> tuple[str, str]:
    """Split a headline into the part about the leading drift, and the rest about the other drifts."""
    start, place, other_series = headline.partition(f" in {leading_case}")
    is_whole_case = bool(leading_case) and other_series[:1] in {" ", ";"}
    return (start + place, other_series) if is_whole_case else (headline, "")


def name_cause(event: EventSummary, drift: Drift) -> str:
    """Return the cause in one line: the commits that the event knows to have caused it, otherwise the drift's words."""
    if event.culprits:
        is_known = event.culprits[0].commit in {candidate.commit for candidate in drift.candidates}
    else:
        is_known = event.certainty in {Certainty.SINGLE_COMMIT, Certainty.PROVEN}
    return event.blamed if is_known else drift.cause_words


def describe_price(drifts: Sequence[Drift]) -> str:
    """Describe the price, in CPU time, of the drift that represents an event; empty if it is unknown."""
    price = choose_leading_drift(drifts).price
    return price.sentence if price else ""


def summarise_drifts(drifts: Sequence[Drift], recurrences: Sequence[Drift] = ()) -> dict[str, Any]:
    """Return the part of an event's description that does not depend on decisions or silences.

    Parameters
    ----------
    drifts
        The original drifts of the event, one of which represents it.
    recurrences
        The drifts with which it came back.
    """
    leading_drift, direction = choose_leading_drift(drifts), decide_direction(drifts)
    all_drifts = [*drifts, *recurrences]
    return {
        "direction": direction.value,
        "within_budget": direction.has_regressions
        and all(drift.within_budget for drift in all_drifts if drift.direction is Direction.REGRESSION),
        "headline": build_headline(drifts),
        "price": describe_price(drifts),
        "revision": leading_drift.revision,
        "previous_revision": leading_drift.good,
        "first_bad": leading_drift.bad,
        "title": leading_drift.title,
        "blamed": leading_drift.blamed,
        "author": leading_drift.author,
        "n_drifts": len(all_drifts),
        "pairs": leading_drift.evidence.pairs,
        "n_series": len({drift.series_id for drift in all_drifts if drift.series_id}),
        "candidates": [candidate.model_dump(mode="json") for candidate in leading_drift.candidates],
        "candidates_known": leading_drift.candidates_known,
        "settings": [setting.model_dump(mode="json") for setting in leading_drift.settings],
    }


def _find_largest(drifts: Sequence[Drift], name: str) -> Drift:
    """Return the largest drift among those of a metric; if there are none, the drift that represents ``drifts``.

    Drifts of different metrics have different units, so they cannot be compared.
    """
    comparable_drifts = [drift for drift in drifts if drift.metric == name and drift.series_id != NO_SERIES]
    if not comparable_drifts:
        return choose_leading_drift(drifts)
    return max(comparable_drifts, key=lambda drift: (abs(drift.change), compute_size(drift), drift.case, drift.id))


def _mark_provisional(drift: Drift, leading_drift: Drift) -> str:
    """Return the mark of a drift that is only suspected while the leading drift is certain; otherwise empty."""
    return " (suspected)" if drift.evidence.wants_rerun and not leading_drift.evidence.wants_rerun else ""


def _describe_change(drift: Drift) -> str:
    """Describe what moved and by how much: ``+4,096 minor faults (+99 %)``, or ``Throughput −12 operations/s``."""
    difference = format_difference(drift.change, drift.unit)
    title = get_metric(drift.metric).title
    # A title that ends with the unit replaces the unit: "4,096 minor faults" instead of "Minor faults 4,096 faults".
    title_without_unit = title.removesuffix(drift.unit)
    if title_without_unit == title:
        text = f"{title} {difference}"
    else:
        amount, space, unit = difference.partition("\N{NO-BREAK SPACE}")
        text = f"{amount}{space}{title_without_unit.lower()}{unit}"
    return text if drift.percent is None else f"{text} ({format_percent(drift.percent)})"
