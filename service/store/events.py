"""Events: listed in short, and one in detail."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from runner.contract import metric
from service.rules.events import headline, lifecycle
from service.rules.events.silence import SilencePattern
from service.rules.series.suite_shift import NO_SERIES
from service.schemas import triage
from service.schemas.history import Cause, Drift, Number
from service.schemas.triage import State
from service.store import cross_measurements, decisions, event_drifts, silences
from service.store.models import Case, Event, EventDriftRow, Host, Series, Subject

_DETAIL_ONLY = ("candidates", "knobs")


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Selects events; None selects all, except those that are gone and without any decision."""

    subject: str | None = None
    state: State | None = None
    cause: Cause | None = None
    open: bool | None = None
    found: bool | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the joined tables."""
        filters: tuple[tuple[Any, object], ...] = (
            (Subject.name, self.subject),
            (Event.state, self.state),
            (Event.cause, self.cause),
            (Event.state.in_(lifecycle.OPEN), self.open),
            (Event.found, self.found),
        )
        conditions = [column == value for column, value in filters if value is not None]
        return conditions if self.found is not None else [*conditions, Event.found | (Event.state != State.NEW)]


def page(session: Session, event_filter: EventFilter, limit: int, offset: int) -> triage.EventList:
    """Return a page of events, those of the newest commits first, without merged ones."""
    query = (
        select(Event, Subject.name)
        .join(Subject, Event.subject_id == Subject.id)
        .where(Event.merged_into.is_(None), *event_filter.conditions())
    )
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    order = (Event.committed_at.desc(), Event.position.desc(), Event.number.desc(), Event.id)
    rows = session.execute(query.order_by(*order).limit(limit).offset(offset)).all()
    items = _summaries(session, [(event, subject) for event, subject in rows])
    return triage.EventList(items=items, total=total, limit=limit, offset=offset)


def summaries(session: Session, event_ids: Sequence[str]) -> list[triage.EventSummary]:
    """Return events in short."""
    rows = session.execute(
        select(Event, Subject.name).join(Subject, Event.subject_id == Subject.id).where(Event.id.in_(event_ids))
    )
    return _summaries(session, [(event, subject) for event, subject in rows])


def find(session: Session, event_id: str) -> Event | None:
    """Return the row of an event."""
    return session.get(Event, event_id)


def subject_of(session: Session, event_id: str) -> str | None:
    """Return the subject of an event; None where there is no such event."""
    query = select(Subject.name).join(Event, Event.subject_id == Subject.id).where(Event.id == event_id)
    return session.scalar(query)


def detail(session: Session, event_id: str) -> triage.EventDetail | None:
    """Return one event with its drifts; a merged event names the one it was merged into."""
    event = session.get(Event, event_id)
    if event is None:
        return None
    subject = session.get_one(Subject, event.subject_id).name
    (summary,) = _summaries(session, [(event, subject)])
    query = select(EventDriftRow.drift_id, EventDriftRow.returned).where(
        EventDriftRow.event_id == event_id, EventDriftRow.found
    )
    returned = dict(session.execute(query).all())
    drifts = sorted(event_drifts.drifts(session, list(returned)), key=lambda drift: (-headline.size(drift), drift.id))
    active = silences.active(session, datetime.now(UTC))
    return triage.EventDetail(
        **summary.model_dump(),
        candidates=event.document["candidates"],
        knobs=event.document["knobs"],
        drifts=[_drift(drift, returned[drift.id], active) for drift in drifts],
        withdrawn=_withdrawn(session, event_id),
        crossings=cross_measurements.of_event(session, event_id),
        allowed=lifecycle.allowed_actions(event.state, summary.direction) if event.merged_into is None else [],
    )


def of_drift(session: Session, drift_id: str) -> triage.EventDetail | None:
    """Return the event that a drift is part of."""
    event_id = event_drifts.events_of(session, [drift_id]).get(drift_id)
    return None if event_id is None else detail(session, event_id)


def baselines(session: Session, series_id: int) -> dict[UUID, tuple[Number, Number] | None]:
    """Return the runs that begin an expected level, from which a series is judged, with the levels before and after.

    The levels are None for a ramp.
    """
    rows = session.scalars(
        select(EventDriftRow)
        .join(Event, EventDriftRow.event_id == Event.id)
        .where(EventDriftRow.series_id == series_id, Event.state == State.EXPECTED)
    )
    return {row.run_after: None if row.rule == "ramp" else (row.before, row.after) for row in rows if row.run_after}


def _summaries(session: Session, rows: Sequence[tuple[Event, str]]) -> list[triage.EventSummary]:
    if not rows:
        return []
    ids = [event.id for event, _ in rows]
    last, silenced = decisions.latest(session, ids), _silenced(session, ids)
    return [
        triage.EventSummary(
            id=event.id,
            subject=subject,
            cause=event.cause,
            state=event.state,
            open=event.state in lifecycle.OPEN,
            found=event.found,
            confirmed=event.confirmed,
            silenced=event.id in silenced,
            committed_at=event.committed_at,
            first_seen_at=event.first_seen_at,
            changed_at=event.changed_at,
            merged_into=event.merged_into,
            last_decision=last.get(event.id),
            n_candidates=len(event.document["candidates"]),
            **{name: value for name, value in event.document.items() if name not in _DETAIL_ONLY},
        )
        for event, subject in rows
    ]


def _silenced(session: Session, event_ids: Sequence[str]) -> set[str]:
    """Return the events of which every drift is silenced."""
    now = datetime.now(UTC)
    active = silences.active(session, now)
    if not active:
        return set()
    locations: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    rows = session.execute(
        select(EventDriftRow.event_id, Subject.name, Host.name, Case.name, Series.metric)
        .join(Series, EventDriftRow.series_id == Series.id)
        .join(Subject, Series.subject_id == Subject.id)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(EventDriftRow.event_id.in_(event_ids), EventDriftRow.found)
    )
    for event, subject, host, case, of_metric in rows:
        locations[event].append((subject, host, case, of_metric))
    return {
        event
        for event, of_event in locations.items()
        if all(any(silence.covers(*location, now) for silence in active) for location in of_event)
    }


def _withdrawn(session: Session, event_id: str) -> list[triage.WithdrawnDrift]:
    rows = event_drifts.withdrawn(session, [event_id]).get(event_id, [])
    of_series = (
        select(Series.id, Host.name, Case.name, Series.metric)
        .join(Host, Series.host_id == Host.id)
        .join(Case, Series.case_id == Case.id)
        .where(Series.id.in_({row.series_id for row in rows}))
    )
    names = {series_id: names for series_id, *names in session.execute(of_series)} if rows else {}
    return [
        triage.WithdrawnDrift(
            series_id=row.series_id,
            host=host,
            case=case,
            metric=name,
            unit=metric(name).unit,
            revision=row.revision,
            before=row.before,
            after=row.after,
            reason=row.withdrawal,
        )
        for row in rows
        if row.series_id is not None and row.withdrawal is not None
        for host, case, name in [names[row.series_id]]
    ]


def _drift(drift: Drift, returned: bool, active: Sequence[SilencePattern]) -> triage.EventDrift:
    now = datetime.now(UTC)
    location = (drift.subject, drift.host, drift.case, drift.metric)
    whole_suite = drift.series_id == NO_SERIES
    return triage.EventDrift(
        drift_id=None if whole_suite else drift.id,
        series_id=None if whole_suite else drift.series_id,
        host=drift.host,
        case=drift.case,
        metric=drift.metric,
        unit=drift.unit,
        direction=drift.direction,
        revision=drift.revision,
        before=None if whole_suite else drift.before,
        after=None if whole_suite else drift.after,
        change=drift.change,
        percent=drift.percent,
        wants_rerun=drift.evidence.wants_rerun,
        returned=returned,
        silenced_until=max((silence.until for silence in active if silence.covers(*location, now)), default=None),
        sentence=drift.evidence.sentence,
        price=drift.price,
    )
