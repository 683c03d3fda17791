"""Reads events: lists of summaries, and single events in detail."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, UnaryExpression, and_, func, literal, or_, select
from sqlalchemy import case as when
from sqlalchemy.orm import Session

from runner.contract import get_metric
from service.rules.events import lifecycle
from service.rules.events.leading_drift import compute_size
from service.rules.events.silence import SilencePattern, find_end_of_silence
from service.rules.series.suite_shift_drift import NO_SERIES
from service.schemas import triage
from service.schemas.certainty import Certainty
from service.schemas.history import Cause, Direction, Drift, Number
from service.schemas.triage import EventDirection, EventOrder, State
from service.store.events import cross_measurements, decisions, event_drifts, leading_drifts, silences, unmoved_hosts
from service.store.events.leading_drifts import SeriesSelection
from service.store.models import IS_ASSIGNED, Case, Event, EventDriftRow, Host, Series, Subject

_DETAIL_FIELDS = ("candidates", "settings")
"""The fields of an event's document that only its detail has, not its summary."""

_LEADING_DIRECTIONS = {
    EventDirection.REGRESSION: Direction.REGRESSION,
    EventDirection.IMPROVEMENT: Direction.IMPROVEMENT,
}
"""The drifts with which a list of what became worse, or better, describes its events."""


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects events; None selects all, except those that are no longer detected and have no decision."""

    subject: str | None = None
    state: State | None = None
    cause: Cause | None = None
    open: bool | None = None
    still_detected: bool | None = None
    direction: EventDirection | None = None
    """What happened in it, or in its series on the given host, of the given case and metric, if there are any.

    Something got worse, something got better, or both.
    """
    host: str | None = None
    """The host on which at least one of its drifts was found; of the given case and metric, if there are any."""
    case: str | None = None
    """A part of the name of the case of at least one of its drifts."""
    metric: str | None = None
    """The metric of at least one of its drifts."""
    min_series: int | None = None
    """The smallest number of series in which its drifts were found."""
    assignee: str | None = None
    """The assignee; empty if nobody is assigned."""
    certainty: Certainty | None = None
    since: datetime | None = None
    """Found at or after this time."""
    committed_since: datetime | None = None
    """Its newest commit was committed at or after this time."""
    below_floor: bool | None = None
    """Whether its drifts are below the floor of their series; None for both."""
    snoozed: bool | None = None
    """Whether it is snoozed now; None for both."""
    ids: Sequence[str] | None = None

    def list_conditions(self, now: datetime) -> list[ColumnElement[bool]]:
        """Return the conditions on the table of events only."""
        filters: tuple[tuple[Any, object], ...] = (
            (Event.state, self.state),
            (Event.cause, self.cause),
            (Event.assignee, self.assignee),
            (Event.certainty, self.certainty),
            (Event.still_detected, self.still_detected),
            (Event.below_floor, self.below_floor),
        )
        conditions: list[ColumnElement[bool]] = [column == value for column, value in filters if value is not None]
        conditions.append(Event.merged_into.is_(None))
        if self.still_detected is None:
            # An event that is no longer detected is listed only if somebody has decided about it.
            conditions.append(Event.still_detected | (Event.state != State.NEW))
        if self.open is not None:
            conditions.append(Event.state.in_(lifecycle.OPEN if self.open else lifecycle.CLOSED))
        if self.subject is not None:
            conditions.append(Event.subject_id.in_(select(Subject.id).where(Subject.name == self.subject)))
        if self.direction is not None:
            conditions.append(leading_drifts.build_direction(self.selection).in_(self.direction.matches))
        elif not self.selection.has_all_series:
            matching_events = select(EventDriftRow.event_id).join(Series, EventDriftRow.series_id == Series.id)
            matching_events = matching_events.where(
                EventDriftRow.event_id == Event.id,
                EventDriftRow.still_detected,
                *self.selection.list_conditions(),
            )
            conditions.append(matching_events.exists())
        if self.min_series is not None:
            count = select(func.count(EventDriftRow.series_id.distinct()))
            count = count.where(EventDriftRow.event_id == Event.id, EventDriftRow.still_detected)
            conditions.append(count.scalar_subquery() >= self.min_series)
        if self.since is not None:
            conditions.append(Event.found_at >= self.since)
        if self.committed_since is not None:
            conditions.append(Event.committed_at >= self.committed_since)
        if self.snoozed is not None:
            awake = and_(_has_snooze_ended(now), Event.wakes_after.is_(None))
            conditions.append(~awake if self.snoozed else awake)
        if self.ids is not None:
            conditions.append(Event.id.in_(self.ids))
        return conditions

    def without_drifts(self) -> EventFilter:
        """Return the filter without what depends on the drifts in some series."""
        return replace(self, direction=None, host=None, case=None, metric=None)

    @property
    def selection(self) -> SeriesSelection:
        """The series by whose drifts the events are selected and described, and the direction that leads."""
        direction = _LEADING_DIRECTIONS.get(self.direction) if self.direction else None
        return SeriesSelection(host=self.host, case=self.case, metric=self.metric, direction=direction)


def _has_snooze_ended(now: datetime) -> ColumnElement[bool]:
    """Return the condition that an event is not snoozed until a later time; it may still wait for a run."""
    return or_(Event.snoozed_until.is_(None), Event.snoozed_until <= now)


_ORDERS: dict[EventOrder, tuple[UnaryExpression[Any], ...]] = {
    # Including the id, this is the order of the index, read backwards, so that nothing has to be sorted.
    EventOrder.IMPORTANCE: (Event.importance.desc(), Event.found_at.desc(), Event.id.desc()),
    EventOrder.SIZE: (Event.size.desc(), Event.importance.desc(), Event.id.asc()),
    EventOrder.PRICE: (Event.price.desc(), Event.importance.desc(), Event.id.asc()),
    EventOrder.FOUND: (Event.found_at.desc(), Event.importance.desc(), Event.id.asc()),
    EventOrder.COMMITTED: (Event.committed_at.desc(), Event.position.desc(), Event.number.desc(), Event.id.asc()),
}


MOST_IMPORTANT_FIRST = (Event.below_floor, *_ORDERS[EventOrder.IMPORTANCE])
"""The order of the first page: events below their floors come last."""


def list_page(  # noqa: PLR0917 - a page of a list
    session: Session,
    event_filter: EventFilter,
    limit: int,
    offset: int,
    order: EventOrder = EventOrder.COMMITTED,
    total: int | None = None,
) -> triage.EventList:
    """Return a page of events, without merged ones.

    If the filter names a host, a case or a metric, the summaries describe only the drifts in these series.

    Parameters
    ----------
    total
        How many events the filter selects, if the caller knows it; otherwise they are counted.
    """
    selection = event_filter.selection
    conditions = event_filter.list_conditions(datetime.now(UTC))
    if total is None:
        total = session.scalar(select(func.count(Event.id)).where(*conditions)) or 0
    order_by = _ORDERS[order]
    if order is EventOrder.SIZE:
        order_by = (leading_drifts.build_size(selection).desc(), *order_by[1:])
    ids = session.scalars(select(Event.id).where(*conditions).order_by(*order_by).limit(limit).offset(offset)).all()
    summaries = leading_drifts.narrow_summaries(session, list_summaries_in_order(session, ids), selection)
    return triage.EventList(items=summaries, total=total, limit=limit, offset=offset)


@dataclass(frozen=True, slots=True)
class EventCounts:
    """How many events a filter selects, by kind."""

    total: int
    worse: int
    mixed: int
    better: int
    unassigned: int
    below_floor: int
    snoozed: int


def count_events(session: Session, event_filter: EventFilter) -> tuple[EventCounts, EventCounts]:
    """Return how many events a filter selects, both since its time and at any time.

    Events below the floor, whose changes are no larger than differences between runs of identical programs, and snoozed
    events are counted separately. A single scan of the index gives all numbers.
    """
    now = datetime.now(UTC)
    is_snoozed = ~and_(_has_snooze_ended(now), Event.wakes_after.is_(None))
    placement = when((is_snoozed, "snoozed"), (Event.below_floor, "floor"), else_="listed")
    is_assigned = when((Event.assignee == "", 0), else_=1)
    is_recent = literal(1) if event_filter.since is None else when((Event.found_at >= event_filter.since, 1), else_=0)
    facts = (
        placement.label("placement"),
        leading_drifts.build_direction(event_filter.selection).label("direction"),
        is_assigned.label("is_assigned"),
        is_recent.label("is_recent"),
    )
    conditions = replace(event_filter, since=None).without_drifts().list_conditions(now)
    # Because of the OFFSET, SQLite does not flatten the subquery, which would compute each direction several times.
    kinds = select(*facts).where(*conditions).offset(0).subquery()
    columns = kinds.c.placement, kinds.c.direction, kinds.c.is_assigned, kinds.c.is_recent
    directions = EventDirection if event_filter.direction is None else event_filter.direction.matches
    query = select(*columns, func.count()).where(kinds.c.direction.in_(list(directions))).group_by(*columns)
    rows = session.execute(query).all()
    recent_rows = [row for row in rows if row[3]]  # the column `is_recent`
    return _sum_counts(recent_rows), _sum_counts(rows)


def _sum_counts(rows: Sequence[Row[str, EventDirection, int, int, int]]) -> EventCounts:
    """Add up rows with a number of events each, by kind, direction, whether they are assigned, and are recent."""
    n_unassigned = 0
    n_by_placement: Counter[str] = Counter()
    n_by_direction: Counter[EventDirection] = Counter()
    for placement, direction, is_assigned, _is_recent, count in rows:
        n_by_placement[placement] += count
        if placement == "listed":
            n_by_direction[direction] += count
            n_unassigned += 0 if is_assigned else count
    return EventCounts(
        total=n_by_placement["listed"],
        worse=n_by_direction[EventDirection.REGRESSION],
        mixed=n_by_direction[EventDirection.MIXED],
        better=n_by_direction[EventDirection.IMPROVEMENT],
        unassigned=n_unassigned,
        below_floor=n_by_placement["floor"],
        snoozed=n_by_placement["snoozed"],
    )


def list_assignees(session: Session) -> list[str]:
    """Return the assignees of all open events, by name."""
    query = select(Event.assignee).where(IS_ASSIGNED, Event.state.in_(lifecycle.OPEN))  # as the index has it
    return list(session.scalars(query.distinct().order_by(Event.assignee)))


def list_most_important(session: Session, event_ids: Sequence[str]) -> list[triage.EventSummary]:
    """Return events in the order of the first page: most important first.

    Events below their floors, whose changes are no larger than differences between runs of identical programs, come
    last.
    """
    ids = session.scalars(select(Event.id).where(Event.id.in_(event_ids)).order_by(*MOST_IMPORTANT_FIRST))
    return list_summaries_in_order(session, list(ids))


def list_summaries_in_order(session: Session, event_ids: Sequence[str]) -> list[triage.EventSummary]:
    """Return the summaries of events in the order of ``event_ids``; every one must exist."""
    summary_by_id = {summary.id: summary for summary in list_summaries(session, event_ids)}
    return [summary_by_id[event_id] for event_id in event_ids]


def list_summaries(session: Session, event_ids: Sequence[str]) -> list[triage.EventSummary]:
    """Return the summaries of events, in any order."""
    if not event_ids:
        return []
    rows = session.execute(
        select(Event, Subject.name).join(Subject, Event.subject_id == Subject.id).where(Event.id.in_(event_ids))
    )
    return _build_summaries(session, [(event, subject) for event, subject in rows])


def find_event(session: Session, event_id: str) -> Event | None:
    """Return the row of an event; None if there is no such event."""
    return session.get(Event, event_id)


def find_subject(session: Session, event_id: str) -> str | None:
    """Return the subject of an event; None if there is no such event."""
    query = select(Subject.name).join(Event, Event.subject_id == Subject.id).where(Event.id == event_id)
    return session.scalar(query)


def read_event(session: Session, event_id: str, drifts: Sequence[Drift] | None = None) -> triage.EventDetail | None:
    """Return one event with its drifts; None if there is no such event.

    A merged event names the event into which it was merged.

    Parameters
    ----------
    drifts
        Its drifts that are still detected, if the caller has read them; if None, they are read here.
    """
    event = session.get(Event, event_id)
    if event is None:
        return None
    subject = session.get_one(Subject, event.subject_id).name
    (summary,) = _build_summaries(session, [(event, subject)])
    query = select(EventDriftRow.drift_id, EventDriftRow.returned).where(
        EventDriftRow.event_id == event_id, EventDriftRow.still_detected
    )
    returned_by_drift = dict(session.execute(query).all())
    found_drifts = event_drifts.read_drifts(session, list(returned_by_drift)) if drifts is None else drifts
    sorted_drifts = sorted(found_drifts, key=lambda drift: (-compute_size(drift), drift.id))
    active_silences = silences.list_active_silences(session, datetime.now(UTC))
    other_hosts = unmoved_hosts.compare_other_hosts(session, sorted_drifts)
    return triage.EventDetail(
        **summary.model_dump(),
        candidates=event.document["candidates"],
        settings=event.document["settings"],
        drifts=[_build_drift(drift, returned_by_drift[drift.id], active_silences) for drift in sorted_drifts],
        withdrawn=_list_withdrawn_drifts(session, event_id),
        fixed_events=decisions.list_events_fixed_by(session, event.subject_id, event.document["revision"]),
        unmoved_hosts=other_hosts.unmoved,
        unmeasured_hosts=other_hosts.unmeasured,
        cross_measurements=cross_measurements.list_cross_measurements(session, event_id),
        allowed=lifecycle.list_allowed_actions(event.state, summary.direction) if event.merged_into is None else [],
    )


def find_event_of_drift(session: Session, drift_id: str) -> triage.EventDetail | None:
    """Return the event to which a drift belongs; None if it belongs to none."""
    event_id = event_drifts.map_events_by_drift(session, [drift_id]).get(drift_id)
    return None if event_id is None else read_event(session, event_id)


def read_baselines(
    session: Session, series_ids: Collection[int]
) -> dict[int, dict[UUID, tuple[Number, Number] | None]]:
    """Return, for each series, the runs at which expected levels begin, with the levels before and after the step.

    A series is judged from such a run on. Series without such a run are left out. The levels are None for a ramp, whose
    level rises or falls over several commits instead of in one step.
    """
    rows = session.scalars(
        select(EventDriftRow)
        .join(Event, EventDriftRow.event_id == Event.id)
        .where(EventDriftRow.series_id.in_(series_ids), Event.state == State.EXPECTED)
        .order_by(EventDriftRow.still_detected, EventDriftRow.drift_id)  # a drift that is still detected comes last
    )
    levels_by_series: dict[int, dict[UUID, tuple[Number, Number] | None]] = defaultdict(dict)
    for row in rows:
        if row.run_after and row.series_id is not None:
            levels_by_series[row.series_id][row.run_after] = None if row.rule == "ramp" else (row.before, row.after)
    return levels_by_series


def _build_summaries(session: Session, rows: Sequence[tuple[Event, str]]) -> list[triage.EventSummary]:
    """Return summaries of events, with their subjects, last decisions and silences."""
    if not rows:
        return []
    ids = [event.id for event, _ in rows]
    now = datetime.now(UTC)
    last_decisions = decisions.map_latest_decisions(session, ids)
    silenced_events = _find_silenced_events(session, ids)
    return [
        triage.EventSummary(
            id=event.id,
            subject=subject,
            cause=event.cause,
            state=event.state,
            open=event.state in lifecycle.OPEN,
            still_detected=event.still_detected,
            confirmed=event.confirmed,
            silenced=event.id in silenced_events,
            committed_at=event.committed_at,
            first_seen_at=event.first_seen_at,
            found_at=event.found_at,
            changed_at=event.changed_at,
            merged_into=event.merged_into,
            last_decision=last_decisions.get(event.id),
            n_candidates=len(event.document["candidates"]),
            authors=list(dict.fromkeys(entry["author"] for entry in event.document["candidates"] if entry["author"])),
            certainty=event.certainty,
            importance=event.importance,
            below_floor=event.below_floor,
            assignee=event.assignee,
            snoozed_until=event.snoozed_until if event.snoozed_until and event.snoozed_until > now else None,
            snoozed_to_next_run=event.wakes_after is not None,
            **{name: value for name, value in event.document.items() if name not in _DETAIL_FIELDS},
        )
        for event, subject in rows
    ]


def _find_silenced_events(session: Session, event_ids: Sequence[str]) -> set[str]:
    """Return the events whose drifts that are still detected are all silenced; shifts of whole suites do not count."""
    now = datetime.now(UTC)
    active_silences = silences.list_active_silences(session, now)
    if not active_silences:
        return set()
    # By event: subject, host, case and metric of each series.
    locations: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    rows = session.execute(
        select(EventDriftRow.event_id, Subject.name, Host.name, Case.name, Series.metric)
        .join(Series, EventDriftRow.series_id == Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(EventDriftRow.event_id.in_(event_ids), EventDriftRow.still_detected)
    )
    for event, subject, host, case, metric_name in rows:
        locations[event].append((subject, host, case, metric_name))
    return {
        event
        for event, locations_of_event in locations.items()
        if all(any(silence.covers(*location, now) for silence in active_silences) for location in locations_of_event)
    }


def _list_withdrawn_drifts(session: Session, event_id: str) -> list[triage.WithdrawnDrift]:
    """Return the withdrawn drifts of an event, with the reasons."""
    rows = event_drifts.map_withdrawn_drifts(session, [event_id]).get(event_id, [])
    query = (
        select(Series.id, Host.name, Case.name, Series.metric)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Series.id.in_({row.series_id for row in rows}))
    )
    series_names = {series_id: names for series_id, *names in session.execute(query)} if rows else {}
    drifts = []
    for row in rows:
        if row.series_id is None or row.withdrawal is None:
            continue  # never true: only drifts of series are withdrawn
        host, case, metric_name = series_names[row.series_id]
        drifts.append(
            triage.WithdrawnDrift(
                series_id=row.series_id,
                host=host,
                case=case,
                metric=metric_name,
                unit=get_metric(metric_name).unit,
                revision=row.revision,
                before=row.before,
                after=row.after,
                reason=row.withdrawal,
            )
        )
    return drifts


def _build_drift(drift: Drift, returned: bool, active_silences: Sequence[SilencePattern]) -> triage.EventDrift:
    """Return a drift as a part of an event, with the time until which it is silenced."""
    now = datetime.now(UTC)
    location = (drift.subject, drift.host, drift.case, drift.metric)
    is_suite_shift = drift.series_id == NO_SERIES
    return triage.EventDrift(
        drift_id=None if is_suite_shift else drift.id,
        series_id=None if is_suite_shift else drift.series_id,
        host=drift.host,
        case=drift.case,
        metric=drift.metric,
        unit=drift.unit,
        direction=drift.direction,
        revision=drift.revision,
        before=None if is_suite_shift else drift.before,
        after=None if is_suite_shift else drift.after,
        change=drift.change,
        percent=drift.percent,
        wants_rerun=drift.evidence.wants_rerun,
        returned=returned,
        silenced_until=find_end_of_silence(active_silences, location, now),
        sentence=drift.evidence.sentence,
        price=drift.price,
    )
