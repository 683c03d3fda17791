"""Jobs: they are ordered, listed, and moved from state to state by :mod:`service.rules.jobs.job_states`."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from runner.contract.job import Job as JobView
from runner.contract.job import (
    JobList,
    JobOrder,
    Question,
    State,
    Where,
)
from runner.contract.report import hash_document
from service.rules.jobs import job_states
from service.rules.jobs.job_descriptions import SERVICE
from service.rules.jobs.job_snapshot import JobSnapshot
from service.rules.jobs.job_states import Action
from service.store.models import Job

OPEN = tuple(state for state in State if state.open)
_MAX_NAME_CHARACTERS = 100
"""The width of the column of requesters."""


@dataclass(frozen=True, slots=True)
class Requester:
    """Who requested a job, and where."""

    name: str
    where: Where
    thread: str = ""
    """The pull request in which the result is posted, as ``owner/name#17``."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Selects jobs; None selects all."""

    state: State | None = None
    open: bool | None = None
    kind: str | None = None
    subject: str | None = None
    host: str | None = None
    thread: str | None = None

    def list_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the table."""
        filters = (
            (Job.state, self.state),
            (Job.kind, self.kind),
            (Job.subject, self.subject),
            (Job.host, self.host),
            (Job.thread, self.thread),
            (Job.state.in_(OPEN), self.open),
        )
        return [column == value for column, value in filters if value is not None]


def store_order(session: Session, job_order: JobOrder, requester: Requester, now: datetime) -> tuple[Job, bool]:
    """Store an order with its question and backend; if an open job has the same question, return this job instead.

    Returns
    -------
    tuple
        The job, and whether it is new.
    """
    question = job_order.question
    backend = job_order.backend
    assert question is not None
    assert backend is not None
    # An open job with the same question.
    github = job_order.github.lower() if job_order.github else None
    fingerprint = hash_document([question.model_dump(mode="json"), backend.value, github])
    same_job = session.scalar(select(Job).where(Job.fingerprint == fingerprint, Job.state.in_(OPEN)).limit(1))
    if same_job is not None:
        return same_job, False
    # A new job.
    row = Job(
        question=build_question_document(question),
        kind=question.kind,
        subject=question.subject,
        fingerprint=fingerprint,
        state=State.QUEUED,
        backend=backend,
        github=github,
        asked_by=requester.name[:_MAX_NAME_CHARACTERS],
        asked_in=requester.where,
        thread=requester.thread,
        created_at=now,
        changed_at=now,
        deadline_at=job_order.deadline_at,
        max_runs=job_order.max_runs,
        attempts=0,
        fruitless=0,
        runs=[],
        sentence="",
        log_url="",
        steps=[],
        post_attempts=0,
    )
    _log_state(row, requester.name, "", now)
    session.add(row)
    session.flush()
    return row, True


def list_measured_runs(row: Job) -> set[UUID]:
    """Return the ids of the runs that were measured for a job."""
    return {UUID(run) for run in row.runs}


def build_question_document(question: Question) -> dict[str, Any]:
    """Return the stored form of a question."""
    return question.model_dump(mode="json", exclude_defaults=True) | {"kind": question.kind}


def find_job(session: Session, job_id: int) -> Job | None:
    """Return the row of a job; None if there is no such job."""
    return session.get(Job, job_id)


def list_page(session: Session, job_filter: JobFilter, limit: int, offset: int = 0) -> JobList:
    """Return a page of jobs, the newest first."""
    query = select(Job).where(*job_filter.list_conditions())
    total = session.scalar(select(func.count()).select_from(query.subquery())) or 0
    rows = session.scalars(query.order_by(Job.id.desc()).limit(limit).offset(offset))
    return JobList(items=tuple(build_view(row) for row in rows), total=total, limit=limit, offset=offset)


def build_view(row: Job) -> JobView:
    """Return a job as the API serves it; only a running job has time left."""
    values = {name: getattr(row, name) for name in JobView.model_fields}
    if row.state is not State.RUNNING:
        values["seconds_left"] = None
    return JobView.model_validate(values)


def move_job_to_next_state(row: Job, action: Action, by: str, sentence: str, now: datetime) -> None:
    """Apply an action to a job: change its state, and log the action.

    Raises
    ------
    JobTransitionError
        If the job's state does not allow the action.
    """
    row.state = job_states.get_next_state(row.state, action)
    row.changed_at = now
    if action is Action.DISPATCH:
        row.attempts += 1
        row.fruitless += 1  # starts since the last new measurement: after too many, the job fails
    if action in {Action.LOSE, Action.RESUME, Action.AGAIN}:  # the runner has lost its lease, or gives it up
        row.lease = row.leased_until = row.due_at = None
    if action is Action.RESUME:  # a person wants the job to be tried as often as a new one
        row.fruitless = 0
    if not row.state.open:
        row.finished_at = now
        row.runs_left = row.seconds_left = None
        row.post_at = now if row.thread else None
    if sentence and action is not Action.CLAIM:  # who claimed the job belongs only into its log
        row.sentence = sentence
    _log_state(row, by, sentence, now)


def build_snapshot(row: Job) -> JobSnapshot:
    """Return the fields of a job that the rules read."""
    return JobSnapshot(
        state=row.state,
        backend=row.backend,
        changed_at=row.changed_at,
        leased_until=row.leased_until,
        due_at=row.due_at,
        deadline_at=row.deadline_at,
        max_runs=row.max_runs,
        runs=len(row.runs),
        fruitless=row.fruitless,
    )


def list_open_jobs(session: Session) -> list[Job]:
    """Return the open jobs, the oldest first."""
    return list(session.scalars(select(Job).where(Job.state.in_(OPEN)).order_by(Job.id)))


def find_due_result(session: Session, now: datetime) -> Job | None:
    """Return the ended job whose result is due first to be posted in its thread; None if no result is due."""
    return session.scalar(select(Job).where(Job.post_at <= now).order_by(Job.post_at).limit(1))


def find_github_repository(session: Session, subject: str) -> str | None:
    """Return the GitHub repository in whose Actions the last job about a subject ran; None if there is none."""
    query = select(Job.github).where(Job.subject == subject, Job.github.is_not(None))
    return session.scalar(query.order_by(Job.id.desc()).limit(1))


def record_failed_start(row: Job, reason: str, retry_at: datetime | None, now: datetime) -> None:
    """Queue a job that could not be started, to be tried again at ``retry_at``; if this is None, fail the job.

    A start that is tried again does not count as an attempt.
    """
    row.sentence = reason
    if retry_at is None:
        move_job_to_next_state(row, Action.FAIL, SERVICE, reason, now)
    else:
        move_job_to_next_state(row, Action.AGAIN, SERVICE, reason, now)
        row.attempts -= 1
        row.fruitless -= 1
        row.due_at = retry_at


def _log_state(row: Job, by: str, sentence: str, now: datetime) -> None:
    """Add the current state of a job to its steps, with who caused it and why."""
    step = {"at": now.isoformat(), "state": row.state.value, "by": by, "sentence": sentence}
    row.steps = [*row.steps, step]
