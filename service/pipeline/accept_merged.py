"""Marks accepted drifts of merged pull requests as expected, so that their levels become baselines."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import MetricVerdict, Verdict
from service.pipeline import decide_events, judging_schedule
from service.rules.events.lifecycle import LogEntry
from service.rules.gate.accepted_change import is_accepted_change
from service.rules.gate.verdict import judge_gate
from service.schemas.history import Number
from service.schemas.triage import Action, State
from service.store import forge_queue, shared_rows
from service.store.engine.database import Database
from service.store.models import Case, Event, EventDriftRow, ForgeGate, Revision, Series, Subject

MAX_WAIT_AFTER_MERGE = timedelta(days=30)
"""Accepted drifts are looked for until this long after the merge."""
SeriesKey = tuple[str, str, str]
"""Subject, case and metric."""


def expect_accepted_drifts(database: Database, now: datetime) -> bool:
    """Mark the accepted drifts of merged pull requests as expected; return whether there were any.

    An event is not changed if somebody has decided about it, or if the gate did not report all of its drifts.
    """
    with database.reading() as session:
        if not any(_find_accepted_events(session, gate) for gate in _list_accepted_gates(session, now)):
            return False
    with database.writing() as session:
        for gate in _list_accepted_gates(session, now):
            for event in _find_accepted_events(session, gate):
                reason = f"{gate.accepted_reason} ({gate.pull.repository}#{gate.pull.number})"
                entry = LogEntry(Action.EXPECT, by_service=False, reason=reason, commit=gate.head)
                decide_events.add_entry(session, event, entry, gate.accepted_by or "", now)
    judging_schedule.judge_or_defer_series(database)
    return True


def _list_accepted_gates(session: Session, now: datetime) -> list[ForgeGate]:
    """Return the gates of recently merged pull requests that somebody has accepted."""
    query = select(ForgeGate).options(forge_queue.WITH_PULL)
    recent = query.where(ForgeGate.accepted_by.is_not(None), ForgeGate.merged_at > now - MAX_WAIT_AFTER_MERGE)
    return list(session.scalars(recent.where(ForgeGate.document.is_not(None))))


def _find_accepted_events(session: Session, gate: ForgeGate) -> list[Event]:
    """Return the new events at the merge commit or at the head whose drifts were all accepted.

    The runs before and after the merge can lie several commits apart. Then the drift may contain changes of commits
    that nobody accepted, so it must not be larger than the accepted change.
    """
    events_at_merge = (
        select(EventDriftRow.event_id)
        .join(Revision, EventDriftRow.last_revision_id == Revision.id)
        .where(EventDriftRow.still_detected, Revision.commit.in_([gate.merged_as, gate.head]))
    )
    events = session.scalars(
        select(Event).where(Event.state == State.NEW, Event.still_detected, Event.id.in_(events_at_merge))
    ).all()
    accepted_changes = _map_accepted_changes(gate) if events else {}
    return [
        event
        for event in events
        if all(
            is_accepted_change(before, after, accepted_changes.get(series))
            for series, before, after in _list_changes(session, event)
        )
    ]


def _list_changes(session: Session, event: Event) -> list[tuple[SeriesKey | None, Number, Number]]:
    """Return the drifts of an event: the series, and the levels before and after.

    A shift of a whole suite has no series (None). A gate never reports one, so such an event is never accepted.
    """
    rows = session.execute(
        select(Subject.name, Case.key, Series.metric, EventDriftRow.before, EventDriftRow.after)
        .select_from(EventDriftRow)
        .outerjoin(Series, EventDriftRow.series_id == Series.id)
        .outerjoin(Case, Series.case_id == Case.id)
        .outerjoin(Subject, Series.subject_id == Subject.id)
        .where(EventDriftRow.event_id == event.id, EventDriftRow.still_detected)
    )
    return [((subject, key, metric) if metric else None, before, after) for subject, key, metric, before, after in rows]


def _map_accepted_changes(gate: ForgeGate) -> dict[SeriesKey | None, MetricVerdict]:
    """Return the changes that a gate reported, by their series."""
    return {
        (outcome.case.head.subject, shared_rows.make_case_key(outcome.case.head.case), metric.metric): metric
        for outcome in judge_gate(forge_queue.read_report(gate)).cases
        for metric in (outcome.comparison.metrics if outcome.comparison else ())
        if metric.verdict is Verdict.CHANGED
    }
