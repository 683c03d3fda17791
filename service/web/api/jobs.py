"""Jobs: people order them and may pause or cancel them; runners take them on and tell how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from math import ceil
from typing import Any

from apiflask import APIBlueprint
from flask import Response
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session

from runner.contract.job import (
    Backend,
    Claim,
    Finish,
    Job,
    JobDecision,
    JobList,
    JobOrder,
    Lease,
    Orders,
    Progress,
    State,
    Where,
)
from service.jobs.extension import log_file, scheduler
from service.jobs.scheduler import WrongOrderError
from service.rules.jobs.states import Act, NotPossibleError
from service.store import jobs, leases
from service.store.jobs import Asked, JobFilter
from service.store.models import Job as Row
from service.web.access import guard
from service.web.access.author import author
from service.web.api.body import PageQuery
from service.web.current import database
from service.web.problems import ProblemError, not_found, unprocessable

bp = APIBlueprint("jobs", __name__)

_LOG: dict[int | str, dict[str, str | dict[str, dict[str, Any]]]] = {
    200: {"description": "The log", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
MAX_LOG = 4 * 1024 * 1024
"""Bytes of a log that are shown: its end."""
HEARTBEATS = 4
"""Signs of life that a lease outlasts."""


class JobQuery(PageQuery):
    """Which jobs are asked for."""

    state: State | None = None
    open: bool | None = None
    kind: str | None = None
    subject: str | None = None
    host: str | None = None
    thread: str | None = None


@bp.get("/jobs")
@bp.input(JobQuery, location="query")
@bp.output(JobList)
def listed(query_data: JobQuery) -> JobList:
    """Return jobs, the newest first."""
    asked = JobFilter(**query_data.model_dump(exclude={"limit", "offset"}))
    with database().reading() as session:
        return jobs.page(session, asked, query_data.limit, query_data.offset)


@bp.post("/jobs")
@bp.input(JobOrder)
@bp.output(Job, status_code=201)
@bp.doc(responses={200: "The open job with the same question"})
def order(json_data: JobOrder) -> ResponseReturnValue:
    """Order a job, or find the open one that has the same question."""
    command = json_data.backend is Backend.CALLER
    found, new = place(json_data, Asked(author(json_data.author), Where.COMMAND if command else Where.API))
    return found.model_dump(mode="json"), HTTPStatus.CREATED if new else HTTPStatus.OK


def place(asked: JobOrder, by: Asked) -> tuple[Job, bool]:
    """Take an order, wherever it was given, and have it seen to; return the job, and whether it is new.

    Raises
    ------
    ProblemError
        Where it cannot be carried out.
    """
    try:
        return scheduler().order(asked, by)
    except WrongOrderError as error:
        raise unprocessable(error.part, str(error)) from None


@bp.get("/jobs/<int:job_id>")
@bp.output(Job)
def get(job_id: int) -> Job:
    """Return one job."""
    with database().reading() as session:
        row = jobs.find(session, job_id) if job_id < 2**63 else None
        if row is None:
            raise not_found(f"job {job_id}")
        return jobs.view(row)


@bp.get("/jobs/<int:job_id>/log")
@bp.doc(responses=_LOG)
def log(job_id: int) -> ResponseReturnValue:
    """Return the log of a job that ran on the machine of this service."""
    found = log_file(job_id)
    if found is None:
        raise not_found(f"log of job {job_id} here")
    return Response(found.read_bytes()[-MAX_LOG:], content_type="text/plain; charset=utf-8")


@bp.post("/jobs/<int:job_id>/claim")
@bp.input(Claim)
@bp.output(Lease)
def claim(job_id: int, json_data: Claim) -> Lease:
    """Take a job on. It is the runner's for as long as it tells its progress; a host has one job at a time."""
    lasts = scheduler().lease
    with _changing(job_id, own=True) as (session, row, now):
        if not row.state.open:
            raise ProblemError(HTTPStatus.GONE, f"Job {job_id} is {row.state}: {row.sentence or 'nobody said why'}")
        shown = leases.claim(session, row, json_data, lasts, now)
        return Lease(job=jobs.view(row), lease=shown, heartbeat_seconds=lasts.total_seconds() / HEARTBEATS)


@bp.post("/jobs/<int:job_id>/progress")
@bp.input(Progress)
@bp.output(Orders)
def progress(job_id: int, json_data: Progress) -> Orders:
    """Tell how far a job is, and that its runner is there; the answer says whether to go on."""
    with _changing(job_id, own=True) as (_, row, now):
        return leases.progress(row, json_data, scheduler().lease, now)


@bp.post("/jobs/<int:job_id>/finish")
@bp.input(Finish)
@bp.output(Job)
def finish(job_id: int, json_data: Finish) -> Job:
    """End the work on a job: it is done, it failed, or the runner was stopped."""
    with _changing(job_id, own=True) as (_, row, now):
        leases.finish(row, json_data, now)
        found = jobs.view(row)
    scheduler().bell()
    return found


@bp.post("/jobs/<int:job_id>/pause")
@bp.input(JobDecision)
@bp.output(Job)
def pause(job_id: int, json_data: JobDecision) -> Job:
    """Pause a job: its runner ends after what it measures now, and what was measured is kept."""
    return decide(job_id, Act.PAUSE, json_data)


@bp.post("/jobs/<int:job_id>/resume")
@bp.input(JobDecision)
@bp.output(Job)
def resume(job_id: int, json_data: JobDecision) -> Job:
    """Have a paused job go on."""
    return decide(job_id, Act.RESUME, json_data)


@bp.post("/jobs/<int:job_id>/cancel")
@bp.input(JobDecision)
@bp.output(Job)
def cancel(job_id: int, json_data: JobDecision) -> Job:
    """Cancel a job; what was measured is kept."""
    return decide(job_id, Act.CANCEL, json_data)


def decide(job_id: int, act: Act, told: JobDecision) -> Job:
    """Let somebody pause, resume or cancel a job.

    Raises
    ------
    ProblemError
        Where there is no such job, or that cannot happen to it.
    """
    by = author(told.author)
    with _changing(job_id) as (_, row, now):
        jobs.move(row, act, by, told.reason, now)
        found = jobs.view(row)
    scheduler().bell()
    return found


@contextmanager
def _changing(job_id: int, *, own: bool = False) -> Iterator[tuple[Session, Row, datetime]]:
    """Find a job to change it; what cannot be done is a problem. `own`: a job of Actions may do so to its own alone."""
    now = datetime.now(UTC)
    with database().writing() as session:
        row = jobs.find(session, job_id) if job_id < 2**63 else None
        if row is None:
            raise not_found(f"job {job_id}")
        repository = guard.caller().repository
        if own and repository is not None and repository != row.github:
            raise ProblemError(HTTPStatus.FORBIDDEN, f"Your token is that of a job of {repository}.")
        try:
            yield session, row, now
        except leases.BusyError as error:
            headers = {"Retry-After": str(max(1, ceil((error.until - now).total_seconds())))}
            raise ProblemError(HTTPStatus.CONFLICT, f"Not now: {error}.", headers=headers) from None
        except (NotPossibleError, leases.LeaseLostError, leases.WrongHostError) as error:
            raise ProblemError(HTTPStatus.CONFLICT, f"{error}.".capitalize()) from None
