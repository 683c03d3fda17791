"""Jobs: people order, pause and cancel them; runners claim them and report their progress."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from apiflask import APIBlueprint
from flask import Response, url_for
from flask.typing import ResponseReturnValue

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
from service.jobs.extension import find_log_file, find_scheduler
from service.pipeline import lease_jobs, update_events
from service.rules.jobs.job_states import Action
from service.store import jobs
from service.store.bisects import bisect_results
from service.store.jobs import JobFilter, Requester
from service.web import job_orders
from service.web.access.author import find_author
from service.web.access.authorization import find_caller
from service.web.api.body import PageQuery
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_not_found

bp = APIBlueprint("jobs", __name__)

_LOG: dict[int | str, dict[str, str | dict[str, dict[str, Any]]]] = {
    200: {"description": "The log", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
MAX_LOG_BYTES = 4 * 1024 * 1024
"""Bytes of a log that are returned, counted from its end."""
HEARTBEATS_PER_LEASE = 4
"""Heartbeats that a runner sends during one lease: a few of them may be lost."""


class JobQuery(PageQuery):
    """The filters of a list of jobs."""

    state: State | None = None
    open: bool | None = None
    kind: str | None = None
    subject: str | None = None
    host: str | None = None
    thread: str | None = None


@bp.get("/jobs")
@bp.input(JobQuery, location="query")
@bp.output(JobList)
def index(query_data: JobQuery) -> JobList:
    """Return jobs, the newest first."""
    job_filter = JobFilter(**query_data.model_dump(exclude={"limit", "offset"}))
    with get_database().reading() as session:
        return jobs.list_page(session, job_filter, query_data.limit, query_data.offset)


@bp.post("/jobs")
@bp.input(JobOrder)
@bp.output(Job, status_code=201)
@bp.doc(responses={200: "The open job that already has the same `question`"})
def order(json_data: JobOrder) -> ResponseReturnValue:
    """Order a job, or return the open job with the same question."""
    # The backend CALLER means that the client runs the job itself, as only `faultwatch` does.
    where = Where.COMMAND if json_data.backend is Backend.CALLER else Where.API
    requester = Requester(find_author(json_data.author), where)
    job, is_new = job_orders.place_order(json_data, requester)
    if not is_new:
        return job.model_dump(mode="json"), HTTPStatus.OK
    return job.model_dump(mode="json"), HTTPStatus.CREATED, {"Location": url_for("api.jobs.get", job_id=job.id)}


@bp.get("/jobs/<int:job_id>")
@bp.output(Job)
def get(job_id: int) -> Job:
    """Return one job."""
    with get_database().reading() as session:
        row = jobs.find_job(session, job_id)
        if row is None:
            raise make_not_found(f"job {job_id}")
        return jobs.build_view(row)


@bp.get("/jobs/<int:job_id>/log")
@bp.doc(responses=_LOG)
def log(job_id: int) -> ResponseReturnValue:
    """Return the log of a job that ran on the machine of this service."""
    file = find_log_file(job_id)
    if file is None:
        raise make_not_found(f"log of job {job_id} on this service")
    return Response(file.read_bytes()[-MAX_LOG_BYTES:], content_type="text/plain; charset=utf-8")


@bp.post("/jobs/<int:job_id>/claim")
@bp.input(Claim)
@bp.output(Lease)
def claim(job_id: int, json_data: Claim) -> Lease:
    """Claim a job. The runner keeps it as long as it reports progress; a host has one job at a time.

    410 if the job is no longer open; 409 if the host or the job is busy.
    """
    lease_time = find_scheduler().lease_time
    with job_orders.open_job_for_change(job_id, only_own_jobs=True, claiming_host=json_data.host) as (
        session,
        row,
        now,
    ):
        if not row.state.open:
            raise ProblemError(HTTPStatus.GONE, f"Job {job_id} is {row.state}: {row.sentence or 'no reason given'}")
        secret = lease_jobs.claim_job(session, row, json_data, lease_time, now, holder=find_caller().holder)
        return Lease(
            job=jobs.build_view(row), lease=secret, heartbeat_seconds=lease_time.total_seconds() / HEARTBEATS_PER_LEASE
        )


@bp.post("/jobs/<int:job_id>/progress")
@bp.input(Progress)
@bp.output(Orders)
def progress(job_id: int, json_data: Progress) -> Orders:
    """Report the progress of a job and extend its lease; the response says whether to continue."""
    with job_orders.open_job_for_change(job_id, only_own_jobs=True) as (session, row, now):
        return lease_jobs.record_progress(
            session, row, json_data, find_scheduler().lease_time, now, holder=find_caller().holder
        )


@bp.post("/jobs/<int:job_id>/finish")
@bp.input(Finish)
@bp.output(Job)
def finish(job_id: int, json_data: Finish) -> Job:
    """Finish a job: it is done, it failed, or the runner was stopped."""
    with job_orders.open_job_for_change(job_id, only_own_jobs=True) as (session, row, now):
        lease_jobs.finish_job(session, row, json_data, now, holder=find_caller().holder)
        # A bisect that was not ordered for a drift still explains a drift whose commit it found.
        drift = row.question.get("drift") or bisect_results.find_explained_drift(session, row)
        if row.state is State.DONE and drift:
            row.question = {**row.question, "drift": drift}
            session.flush()
            update_events.refresh_culprits(session, row.subject, drift, now)
        job = jobs.build_view(row)
    find_scheduler().wake()
    return job


@bp.post("/jobs/<int:job_id>/pause")
@bp.input(JobDecision)
@bp.output(Job)
def pause(job_id: int, json_data: JobDecision) -> Job:
    """Pause a job: its runner stops after the current run, and the runs stay stored."""
    return job_orders.decide_job(job_id, Action.PAUSE, json_data)


@bp.post("/jobs/<int:job_id>/resume")
@bp.input(JobDecision)
@bp.output(Job)
def resume(job_id: int, json_data: JobDecision) -> Job:
    """Resume a paused job."""
    return job_orders.decide_job(job_id, Action.RESUME, json_data)


@bp.post("/jobs/<int:job_id>/cancel")
@bp.input(JobDecision)
@bp.output(Job)
def cancel(job_id: int, json_data: JobDecision) -> Job:
    """Cancel a job; its runs stay stored."""
    return job_orders.decide_job(job_id, Action.CANCEL, json_data)
