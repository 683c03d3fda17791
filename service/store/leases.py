"""A runner's right to a job: given, kept by signs of life, and given back."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract.job import Claim, Finish, Go, Orders, Outcome, Progress, State
from service.rules.jobs import states
from service.rules.jobs.due import SERVICE
from service.rules.jobs.states import Act
from service.store.jobs import move
from service.store.models import Job


class BusyError(Exception):
    """A host cannot take a job on: it has another one, or another host has this one."""

    def __init__(self, detail: str, until: datetime) -> None:
        super().__init__(detail)
        self.until = until


class WrongHostError(Exception):
    """The job is for another host."""


class LeaseLostError(Exception):
    """The job is another runner's by now, or nobody's."""


def claim(session: Session, row: Job, asked: Claim, lasts: timedelta, now: datetime) -> str:
    """Give a job to a runner for a time; return what it is to show.

    Raises
    ------
    BusyError
        Where the host measures something else, or another host has the job.
    WrongHostError
        Where it is for another host.
    NotPossibleError
        Where nobody can take the job on.
    """
    wanted = row.question.get("host")
    if wanted not in {None, asked.host}:
        raise WrongHostError(f"job {row.id} is for the host {wanted}, and this is {asked.host}")
    if row.leased_until is not None and row.leased_until > now and row.host != asked.host:
        raise BusyError(f"the host {row.host} has job {row.id}", row.leased_until)
    other = session.scalar(select(Job).where(Job.id != row.id, Job.host == asked.host, Job.leased_until > now).limit(1))
    if other is not None and other.leased_until is not None:
        raise BusyError(
            f"the host {asked.host} has job {other.id}, and measures one thing at a time", other.leased_until
        )
    if row.state is not State.DISPATCHED:  # else it was counted when it was dispatched
        row.attempts += 1
        row.fruitless += 1
    move(row, Act.CLAIM, asked.host, "", now)
    row.host = asked.host
    row.started_at = row.started_at or now
    row.log_url = asked.log_url or row.log_url
    row.lease, row.leased_until = secrets.token_urlsafe(24), now + lasts
    return row.lease


def progress(row: Job, told: Progress, lasts: timedelta, now: datetime) -> Orders:
    """Take a sign of life; return what the runner is to do.

    Raises
    ------
    LeaseLostError
        Where the job is not this runner's any more.
    """
    _require(row, told.lease)
    _measured(row, told.measured)
    if row.state.open:
        row.runs_left, row.seconds_left = told.runs_left, told.seconds_left
        row.sentence = told.sentence or row.sentence
    row.leased_until = now + lasts
    if row.state is State.RUNNING:
        return Orders(go=Go.ON)
    return Orders(go=Go.PAUSE if row.state is State.PAUSED else Go.STOP, why=row.sentence)


def finish(row: Job, told: Finish, now: datetime) -> None:
    """Take the end of a runner's work. The same end may be told twice.

    Raises
    ------
    LeaseLostError
        Where the job is not this runner's any more.
    """
    _require(row, told.lease)
    _measured(row, told.measured)
    act = {Outcome.DONE: Act.DONE, Outcome.FAILED: Act.FAIL, Outcome.STOPPED: Act.PAUSE}[told.outcome]
    if states.possible(row.state, act):
        row.result = told.result if told.result is not None else row.result
        move(row, act, row.host or SERVICE, told.sentence, now)
    row.leased_until = now  # the host is free; the lease stays, so that the same end can be told again


def _require(row: Job, lease: str) -> None:
    if row.lease is None or not secrets.compare_digest(row.lease.encode(), lease.encode()):
        raise LeaseLostError(f"job {row.id} is {row.state}, and not this runner's any more")


def _measured(row: Job, runs: tuple[UUID, ...]) -> None:
    new = [str(one) for one in dict.fromkeys(runs) if str(one) not in set(row.runs)]
    if new:
        row.runs = [*row.runs, *new]
        row.fruitless = 0
