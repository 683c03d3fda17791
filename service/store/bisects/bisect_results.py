"""Reads the bisects that were ordered for drifts, and their results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract.commit_search import Found, NothingToFind, Search
from runner.contract.job import Job as JobView
from runner.contract.job import State
from service.rules.events.narrowing import BisectResult
from service.rules.jobs.job_descriptions import SERVICE
from service.rules.jobs.repeated_bisects import OrderedBisect
from service.schemas.history import Drift
from service.store import jobs, shared_rows
from service.store.events import event_drifts
from service.store.models import Case, DriftRow, Event, Host, Job, Series, Subject

_KIND = "bisect"


def read_result(job: JobView | Job) -> Search | None:
    """Return the result of a bisect; None if there is none yet, or this version cannot read it."""
    try:
        return None if job.result is None else Search.model_validate(job.result)
    except ValidationError:  # the result is from a runner of another version
        return None


def find_explained_drift(session: Session, job: Job) -> str | None:
    """Return the id of the drift that a bisect explains although it was not ordered for a drift; None if there is none.

    Such a bisect, for example from the command line, has the same ends, case, host and metric as the drift.
    """
    search = read_result(job) if job.kind == _KIND else None
    if search is None or search.request is None:
        return None
    request = search.request
    documents = session.scalars(
        select(DriftRow.document)
        .join(Series, DriftRow.series_id == Series.id)
        .join(Series.subject)
        .join(Series.case)
        .join(Series.host)
        .where(
            Subject.name == job.subject,
            Case.key == shared_rows.make_case_key(request.case),
            Host.name == request.host,
            Series.metric == request.metric,
        )
    )
    drifts = map(Drift.model_validate, documents)
    return next((drift.id for drift in drifts if (drift.good, drift.bad) == (request.good, request.bad)), None)


def map_bisects_by_event(session: Session, subject: str) -> dict[str, list[OrderedBisect]]:
    """Return the bisects that were ordered for drifts of the events of a subject, by the event's id."""
    return {
        event: [_build_ordered_bisect(row) for row in rows]
        for event, rows in _map_jobs_by_event(session, subject).items()
    }


def list_event_bisects(session: Session, subject: str, event_id: str) -> list[JobView]:
    """Return the bisects that were ordered for drifts of an event, the newest first."""
    return [jobs.build_view(row) for row in _map_jobs_by_event(session, subject).get(event_id, ())]


def _map_jobs_by_event(session: Session, subject: str) -> dict[str, list[Job]]:
    """Return the bisects that were ordered for drifts of a subject, the newest first, by the event's id."""
    query = select(Job).where(Job.kind == _KIND, Job.subject == subject).order_by(Job.id.desc())
    rows = [row for row in session.scalars(query) if row.question.get("drift")]
    events = event_drifts.map_events_by_drift(session, sorted({row.question["drift"] for row in rows}))
    jobs_by_event: dict[str, list[Job]] = defaultdict(list)
    for row in rows:
        if row.question["drift"] in events:
            jobs_by_event[events[row.question["drift"]]].append(row)
    return jobs_by_event


def list_ordered_by_service(session: Session, subject: str) -> list[OrderedBisect]:
    """Return the bisects of a subject that the service ordered."""
    query = select(Job).where(Job.kind == _KIND, Job.subject == subject, Job.asked_by == SERVICE)
    return [_build_ordered_bisect(row) for row in session.scalars(query)]


def _build_ordered_bisect(row: Job) -> OrderedBisect:
    return OrderedBisect(row.created_at, row.state, len(row.runs), row.finished_at, by_service=row.asked_by == SERVICE)


def map_results_by_event(session: Session, subject: str) -> Mapping[str, BisectResult]:
    """Return, for each event of a subject, the result of its newest conclusive bisect, by the event's id.

    A bisect is conclusive if its culprits are proven, or if the two sides differ only as much as further builds do.
    """
    query = select(Job).where(Job.kind == _KIND, Job.subject == subject, Job.state == State.DONE).order_by(Job.id)
    results_by_drift: dict[str, BisectResult] = {}
    for job in session.scalars(query):
        search = read_result(job)
        if search is None or not job.question.get("drift"):
            continue
        if isinstance(search.answer, Found):
            result = BisectResult(job.id, search.answer.culprits)
            if result.proven:
                results_by_drift[job.question["drift"]] = result
        elif isinstance(search.answer, NothingToFind) and search.answer.only_builds:
            results_by_drift[job.question["drift"]] = BisectResult(job.id, (), only_builds=True)
    events_query = select(Event.id).join(Subject, Event.subject_id == Subject.id).where(Subject.name == subject)
    subject_events = set(session.scalars(events_query)) if results_by_drift else set()
    events = event_drifts.map_events_by_drift(session, sorted(results_by_drift))
    results_by_event: dict[str, BisectResult] = {}
    # Several drifts of an event may have been bisected: the newest job comes last and counts.
    for drift_id, result in sorted(results_by_drift.items(), key=lambda item: item[1].job):
        if events.get(drift_id) in subject_events:
            results_by_event[events[drift_id]] = result
    return results_by_event
