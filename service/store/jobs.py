"""Jobs as they are ordered, claimed, reported and ended; :mod:`service.rules.jobs.states` decides what may happen."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from runner.contract import metric
from runner.contract.job import (
    BisectQuestion,
    JobList,
    JobOrder,
    Question,
    State,
    Where,
)
from runner.contract.job import Job as JobView
from runner.contract.report import hash_of
from service.rules.jobs import states
from service.rules.jobs.due import SERVICE, Standing
from service.rules.jobs.states import Act
from service.schemas.history import Drift
from service.store.models import Environment, Job

_VARIABLE = "variable."
OPEN = tuple(state for state in State if state.open)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asked for a job, and where."""

    by: str
    where: Where
    thread: str = ""
    """The pull request that is told what came of it, as ``owner/name#17``."""


@dataclass(frozen=True, slots=True)
class JobFilter:
    """Which jobs are asked for; None asks for all."""

    state: State | None = None
    open: bool | None = None
    kind: str | None = None
    subject: str | None = None
    host: str | None = None
    thread: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the table."""
        asked = (
            (Job.state, self.state),
            (Job.kind, self.kind),
            (Job.subject, self.subject),
            (Job.host, self.host),
            (Job.thread, self.thread),
            (Job.state.in_(OPEN), self.open),
        )
        return [column == value for column, value in asked if value is not None]


def about(session: Session, drift: Drift) -> BisectQuestion:
    """Return the question which commit brought a drift, to be asked in the environment in which it was seen.

    What moves an exact metric by less than a tenth of the drift does not matter then.
    """
    knobs = session.scalar(select(Environment.knobs).where(Environment.hash == drift.environment_after)) or {}
    return BisectQuestion(
        subject=drift.subject,
        case=drift.case,
        host=drift.host,
        metric=drift.metric,
        good=drift.previous_revision,
        bad=drift.revision,
        least=abs(drift.change) / 10 if metric(drift.metric).exact else 0,
        # Of a secret only its place is known.
        variables={
            name[len(_VARIABLE) :]: value
            for name, value in knobs.items()
            if name.startswith(_VARIABLE) and "(hidden)" not in value
        },
        drift=drift.id,
    )


def order(session: Session, asked: JobOrder, by: Asked, now: datetime) -> tuple[Job, bool]:
    """Store an order that has its question and its backend, or find the open job that has the same question.

    Returns
    -------
    tuple
        The job, and whether it is new.
    """
    question, backend = asked.question, asked.backend
    assert question is not None
    assert backend is not None
    github = asked.github.lower() if asked.github else None
    fingerprint = hash_of([question.model_dump(mode="json"), backend.value, github])
    found = session.scalar(select(Job).where(Job.fingerprint == fingerprint, Job.state.in_(OPEN)).limit(1))
    if found is not None:
        return found, False
    row = Job(
        question=document(question),
        kind=question.kind,
        subject=question.subject,
        fingerprint=fingerprint,
        state=State.QUEUED,
        backend=backend,
        github=github,
        asked_by=by.by[:100],
        asked_in=by.where,
        thread=by.thread,
        created_at=now,
        changed_at=now,
        deadline_at=asked.deadline_at,
        most_runs=asked.most_runs,
        attempts=0,
        fruitless=0,
        runs=[],
        sentence="",
        log_url="",
        course=[],
        tellings=0,
    )
    _remember(row, by.by, "", now)
    session.add(row)
    session.flush()
    return row, True


def document(question: Question) -> dict[str, Any]:
    """Return a question as it is stored."""
    return question.model_dump(mode="json", exclude_defaults=True) | {"kind": question.kind}


def find(session: Session, job_id: int) -> Job | None:
    """Return one job."""
    return session.get(Job, job_id)


def page(session: Session, asked: JobFilter, limit: int, offset: int = 0) -> JobList:
    """Return a page of jobs, the newest first."""
    wanted = select(Job).where(*asked.conditions())
    total = session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    rows = session.scalars(wanted.order_by(Job.id.desc()).limit(limit).offset(offset))
    return JobList(items=tuple(view(row) for row in rows), total=total, limit=limit, offset=offset)


def view(row: Job) -> JobView:
    """Return a job as it is told."""
    return JobView.model_validate({name: getattr(row, name) for name in JobView.model_fields})


def move(row: Job, act: Act, by: str, sentence: str, now: datetime) -> None:
    """Let something happen to a job.

    Raises
    ------
    NotPossibleError
        Where it cannot.
    """
    row.state = states.after(row.state, act)
    row.changed_at = now
    if act is Act.DISPATCH:
        row.attempts += 1
        row.fruitless += 1
    if act in {Act.LOSE, Act.RESUME, Act.AGAIN}:
        row.lease = row.leased_until = row.due_at = None
    if act is Act.RESUME:
        row.fruitless = 0
    if not row.state.open:
        row.finished_at = now
        row.runs_left = row.seconds_left = None
        row.tell_at = now if row.thread else None
    if sentence and act is not Act.CLAIM:
        row.sentence = sentence
    _remember(row, by, sentence, now)


def standing(row: Job) -> Standing:
    """Return what of a job decides what is due."""
    return Standing(
        state=row.state,
        backend=row.backend,
        changed_at=row.changed_at,
        leased_until=row.leased_until,
        due_at=row.due_at,
        deadline_at=row.deadline_at,
        most_runs=row.most_runs,
        runs=len(row.runs),
        fruitless=row.fruitless,
    )


def open_jobs(session: Session) -> list[Job]:
    """Return the jobs of which something can still come, the oldest first."""
    return list(session.scalars(select(Job).where(Job.state.in_(OPEN)).order_by(Job.id)))


def to_be_told(session: Session, now: datetime) -> Job | None:
    """Return a job that has ended, and of which those do not know yet who asked for it."""
    return session.scalar(select(Job).where(Job.tell_at <= now).order_by(Job.tell_at).limit(1))


def github_of(session: Session, subject: str) -> str | None:
    """Return the repository on GitHub in whose Actions the last job about a subject ran, if any did."""
    wanted = select(Job.github).where(Job.subject == subject, Job.github.is_not(None))
    return session.scalar(wanted.order_by(Job.id.desc()).limit(1))


def not_started(row: Job, why: str, again_at: datetime | None, now: datetime) -> None:
    """Take it that a job that was dispatched could not be started: later, or never where no time is told."""
    row.sentence = why
    if again_at is None:
        move(row, Act.FAIL, SERVICE, why, now)
    else:
        move(row, Act.AGAIN, SERVICE, why, now)
        row.attempts, row.fruitless, row.due_at = row.attempts - 1, row.fruitless - 1, again_at


def _remember(row: Job, by: str, sentence: str, now: datetime) -> None:
    step = {"at": now.isoformat(), "state": row.state.value, "by": by, "sentence": sentence}
    row.course = [*row.course, step]
