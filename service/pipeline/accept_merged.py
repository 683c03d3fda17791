"""What somebody accepted of a pull request is expected once it is merged: its level becomes the new baseline."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract import Verdict
from service.pipeline import decide_events, detect_drifts
from service.rules.events.automatic_decisions import LogEntry
from service.rules.gate.verdict import judge_gate
from service.schemas.events import Action, State
from service.store import github, shared_rows
from service.store.engine.database import Database
from service.store.models import Case, Event, EventDrift, GithubGate, Revision, Series, Subject

FOR = timedelta(days=30)
"""How long after a merge its drifts are waited for."""
Place = tuple[str, str, str]
"""Subject, case and metric."""


def settle(database: Database, now: datetime) -> bool:
    """Expect the drifts that merged pull requests brought as somebody accepted them; whether there were any.

    An event is left to people where somebody decided about it, or it holds a drift of which the gate had not told.
    """
    with database.reading() as session:
        if not any(_brought(session, gate) for gate in _merged(session, now)):
            return False
    with database.writing() as session:
        for gate in _merged(session, now):
            for event in _brought(session, gate):
                reason = f"{gate.accepted_reason} ({gate.pull.repository}#{gate.pull.number})"
                entry = LogEntry(Action.EXPECT, by_service=False, reason=reason, commit=gate.head)
                decide_events.add(session, event, entry, gate.accepted_by or "", now)
    detect_drifts.refresh(database)
    return True


def _merged(session: Session, now: datetime) -> list[GithubGate]:
    asked = select(GithubGate).options(github.WITH_PULL)
    recent = asked.where(GithubGate.accepted_by.is_not(None), GithubGate.merged_at > now - FOR)
    return list(session.scalars(recent.where(GithubGate.document.is_not(None))))


def _brought(session: Session, gate: GithubGate) -> list[Event]:
    """Return the new events at the commit of a merge, or at its head, that hold nothing but what was accepted."""
    at = (
        select(EventDrift.event_id)
        .join(Revision, EventDrift.last_revision_id == Revision.id)
        .where(EventDrift.found, Revision.commit.in_([gate.merged_as, gate.head]))
    )
    events = session.scalars(select(Event).where(Event.state == State.NEW, Event.found, Event.id.in_(at))).all()
    accepted = _accepted(gate) if events else set()
    return [event for event in events if _places(session, event) <= accepted]


def _places(session: Session, event: Event) -> set[Place | None]:
    """Return where an event's drifts are; None stands for one of a whole suite."""
    rows = session.execute(
        select(Subject.name, Case.key, Series.metric)
        .select_from(EventDrift)
        .outerjoin(Series, EventDrift.series_id == Series.id)
        .outerjoin(Case, Series.case_id == Case.id)
        .outerjoin(Subject, Series.subject_id == Subject.id)
        .where(EventDrift.event_id == event.id, EventDrift.found)
    )
    return {(subject, key, metric) if metric else None for subject, key, metric in rows}


def _accepted(gate: GithubGate) -> set[Place]:
    """Return what a gate told to have changed."""
    return {
        (one.case.head.subject, shared_rows.case_key(one.case.head.case), metric.metric)
        for one in judge_gate(github.report_of(gate)).cases
        for metric in (one.comparison.metrics if one.comparison else ())
        if metric.verdict is Verdict.CHANGED
    }
