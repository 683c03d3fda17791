"""What leads an event: of all its drifts, or only of those in the series that a filter selects.

A list that is filtered by host, case or metric describes and judges each event by its drifts in these series, because
an event with a hundred series can be worse in ninety of them, and better in the one that the reader asked about. For
the same reason, a list of what became worse begins each description with a regression, and orders events by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    Select,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.orm import Session

from service.rules.events import headline
from service.rules.events.leading_drift import PERCENT_FROM_ZERO
from service.schemas.certainty import Certainty
from service.schemas.history import Direction, Drift
from service.schemas.triage import EventDirection, EventSummary
from service.store.events import event_drifts
from service.store.models import Case, DriftRow, Event, EventDriftRow, Host, Series


@dataclass(frozen=True, slots=True)
class SeriesSelection:
    """Selects series, and the drifts in them that lead; without any field, all of them."""

    host: str | None = None
    case: str | None = None
    """A part of the name of the case."""
    case_key: str | None = None
    metric: str | None = None
    direction: Direction | None = None
    """The direction of the drifts that lead: an event in both directions is described by one of them first."""

    @property
    def has_all_series(self) -> bool:
        """Whether no series is left out."""
        return replace(self, direction=None) == ALL_SERIES

    def list_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the table of series."""
        conditions: list[ColumnElement[bool]] = []
        if self.host is not None:
            conditions.append(Series.host_id.in_(select(Host.id).where(Host.name == self.host)))
        if self.case is not None:
            matching_cases = select(Case.id).where(Case.name.icontains(self.case, autoescape=True))
            conditions.append(Series.case_id.in_(matching_cases))
        if self.case_key is not None:
            conditions.append(Series.case_id.in_(select(Case.id).where(Case.key == self.case_key)))
        if self.metric is not None:
            conditions.append(Series.metric == self.metric)
        return conditions


ALL_SERIES = SeriesSelection()

# Literals instead of parameters, so that SQLite recognises equal aggregates and computes each only once.
_TIER = case(
    (EventDriftRow.returned, case((EventDriftRow.unsure, literal_column("3")), else_=literal_column("2"))),
    (EventDriftRow.unsure, literal_column("1")),
    else_=literal_column("0"),
)
"""The drifts of the lowest tier decide: original ones before recurrences, and certain ones before suspected ones."""
_BEFORE, _AFTER = cast(EventDriftRow.before, Float), cast(EventDriftRow.after, Float)
_SIZE = case(
    (EventDriftRow.series_id.is_(None), 0.0),
    (_BEFORE == 0, float(PERCENT_FROM_ZERO)),
    else_=100 * func.abs((_AFTER - _BEFORE) / func.nullif(_BEFORE, 0)),
)

_TIER_OF_WORSE = func.min(case((EventDriftRow.worse, _TIER)))
_TIER_OF_BETTER = func.min(case((~EventDriftRow.worse, _TIER)))
_DIRECTION = type_coerce(
    case(
        (_TIER_OF_WORSE == _TIER_OF_BETTER, EventDirection.MIXED.value),
        (or_(_TIER_OF_BETTER.is_(None), _TIER_OF_WORSE < _TIER_OF_BETTER), EventDirection.REGRESSION.value),
        else_=EventDirection.IMPROVEMENT.value,
    ),
    Event.direction.type,
)
"""The direction of a group of drifts, as :func:`service.rules.events.leading_drift.decide_direction` decides it."""


def build_direction(selection: SeriesSelection) -> ColumnElement[Any]:
    """Return the direction of an event in the selected series; NULL if it has no drift there."""
    if selection.has_all_series:
        return Event.direction.expression
    return type_coerce(_select_drifts_of_event(_DIRECTION, selection).scalar_subquery(), Event.direction.type)


def build_size(selection: SeriesSelection) -> ColumnElement[Any]:
    """Return the size of an event's largest change in the selected series, in percent of the level before it.

    If a direction leads, only changes in this direction count.
    """
    if selection == ALL_SERIES:
        return Event.size.expression
    size = _SIZE if selection.direction is None else case((_is_in_direction(selection.direction), _SIZE))
    size_in_series = _select_drifts_of_event(func.max(size), selection).scalar_subquery()
    if not selection.has_all_series:
        return size_in_series
    # Only an event in both directions can have a larger change than the one that is asked for.
    return case((Event.direction == EventDirection.MIXED, size_in_series), else_=Event.size)


def _is_in_direction(direction: Direction) -> ColumnElement[bool]:
    is_worse = EventDriftRow.worse.expression
    return is_worse if direction is Direction.REGRESSION else ~is_worse


def _select_drifts_of_event(column: ColumnElement[Any], selection: SeriesSelection) -> Select[Any]:
    """Return the query of an aggregate of an outer query's event: of its detected drifts in the selected series."""
    query = select(column).join(Series, EventDriftRow.series_id == Series.id)
    is_of_event = EventDriftRow.event_id == Event.id, EventDriftRow.still_detected
    query = query.where(*is_of_event, *selection.list_conditions())
    return query.group_by(EventDriftRow.event_id).correlate(Event)  # without groups, no drift would be a row as well


def _select_leading_drifts(selection: SeriesSelection) -> Select[Any]:
    """Return the query of the leading drifts of the events in ``events``, at most ``limit`` of each."""
    in_direction = [] if selection.direction is None else [_is_in_direction(selection.direction).desc()]
    rank = func.row_number().over(
        partition_by=EventDriftRow.event_id,
        order_by=(*in_direction, _TIER, _SIZE.desc(), Case.name, EventDriftRow.drift_id),
    )
    ranked_drifts = (
        select(EventDriftRow.event_id, EventDriftRow.drift_id, rank.label("place"))
        .outerjoin(Series, EventDriftRow.series_id == Series.id)
        .outerjoin(Case, Series.case_id == Case.id)
        .where(EventDriftRow.event_id.in_(bindparam("events", expanding=True)), EventDriftRow.still_detected)
        .where(*selection.list_conditions())
        .subquery()
    )
    return (
        select(ranked_drifts.c.event_id, ranked_drifts.c.drift_id, DriftRow.document)
        .outerjoin(DriftRow, DriftRow.id == ranked_drifts.c.drift_id)
        .where(ranked_drifts.c.place <= bindparam("limit"))
        .order_by(ranked_drifts.c.place)
    )


_LEADING_DRIFTS_OF_ALL_SERIES = _select_leading_drifts(ALL_SERIES)


def map_leading_drifts(
    session: Session, event_ids: Sequence[str], limit: int, selection: SeriesSelection = ALL_SERIES
) -> dict[str, list[Drift]]:
    """Return the leading drifts of each event in the selected series, by the id of the event.

    The first one is the drift with which the event's headline begins. Certain drifts come before those that need
    another run, then larger changes before smaller ones, in percent of the level before. Drifts with which an event
    came back come last.
    """
    if not event_ids:
        return {}
    query = _LEADING_DRIFTS_OF_ALL_SERIES if selection == ALL_SERIES else _select_leading_drifts(selection)
    rows = session.execute(query, {"events": event_ids, "limit": limit}).all()
    # A shift of a whole suite belongs to no series, so its document is not among the drifts of series.
    suite_shift_ids = [drift_id for _, drift_id, document in rows if document is None]
    suite_drifts: dict[str, Drift] = {}
    if suite_shift_ids:
        suite_drifts = {drift.id: drift for drift in event_drifts.read_drifts(session, suite_shift_ids)}
    leading_drifts: dict[str, list[Drift]] = {event_id: [] for event_id in event_ids}
    for event_id, drift_id, document in rows:
        drift = suite_drifts.get(drift_id) if document is None else Drift.model_validate(document)
        if drift is not None:
            leading_drifts[event_id].append(drift)
    return leading_drifts


def narrow_summaries(
    session: Session, summaries: Sequence[EventSummary], selection: SeriesSelection
) -> list[EventSummary]:
    """Return summaries that describe only the drifts in the selected series; a summary without any stays as it is.

    With all series, only the summaries of events in both directions begin with another drift.
    """
    if selection == ALL_SERIES:
        return list(summaries)
    ids = [
        summary.id for summary in summaries if not selection.has_all_series or summary.direction is EventDirection.MIXED
    ]
    leading_drifts = map_leading_drifts(session, ids, 1, selection)
    facts = _count_drifts(session, ids, selection)
    narrowed_summaries = []
    for summary in summaries:
        narrowed_summaries += [
            _narrow_summary(summary, drift, facts[summary.id]) for drift in leading_drifts.get(summary.id, [])
        ] or [summary]
    return narrowed_summaries


def _count_drifts(
    session: Session, event_ids: Sequence[str], selection: SeriesSelection
) -> dict[str, tuple[EventDirection, int, int, int]]:
    """Return the direction of each event in the selected series, and its numbers of series, drifts and regressions."""
    n_regressions = func.sum(case((EventDriftRow.worse, 1), else_=0))
    query = (
        select(EventDriftRow.event_id, _DIRECTION, func.count(Series.id.distinct()), func.count(), n_regressions)
        .join(Series, EventDriftRow.series_id == Series.id)
        .where(EventDriftRow.event_id.in_(event_ids), EventDriftRow.still_detected, *selection.list_conditions())
        .group_by(EventDriftRow.event_id)
    )
    return {event_id: (direction, *counts) for event_id, direction, *counts in session.execute(query)}


def _narrow_summary(
    summary: EventSummary, leading_drift: Drift, facts: tuple[EventDirection, int, int, int]
) -> EventSummary:
    """Return a summary that describes only some drifts, given the leading one and the facts of all of them."""
    direction, n_series, n_drifts, n_regressions = facts
    is_worse = leading_drift.direction is Direction.REGRESSION
    n_alike = n_regressions if is_worse else n_drifts - n_regressions
    changes: dict[str, Any] = {
        "direction": direction,
        "headline": headline.build_short_headline(leading_drift, n_alike, n_drifts - n_alike),
        "price": leading_drift.price.sentence if leading_drift.price else "",
        "within_budget": summary.within_budget and direction.has_regressions,
        "n_drifts": n_drifts,
        "n_series": n_series,
    }
    return summary.model_copy(update=changes | _narrow_cause(summary, leading_drift))


def _narrow_cause(summary: EventSummary, leading_drift: Drift) -> dict[str, Any]:
    """Return what a summary says about the cause: the only commit that the event knows, or what its drift knows."""
    is_commit_known = summary.certainty in {Certainty.SINGLE_COMMIT, Certainty.PROVEN}
    if is_commit_known and not leading_drift.evidence.wants_rerun:
        return {}
    return {
        "certainty": leading_drift.certainty,
        # The event may be certain because of other drifts, but these are not.
        "confirmed": summary.confirmed and not leading_drift.evidence.wants_rerun,
        "title": leading_drift.title,
        "author": leading_drift.author,
        "blamed": leading_drift.blamed,
        "authors": list(dict.fromkeys(entry.author for entry in leading_drift.candidates if entry.author)),
        "n_candidates": len(leading_drift.candidates),
        "candidates_known": leading_drift.candidates_known,
    }
