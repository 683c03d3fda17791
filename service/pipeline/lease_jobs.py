"""Leases jobs to runners: a claim starts a lease, each progress report extends it, and the end releases it."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from uuid import UUID

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from runner.contract.job import Claim, Finish, Instruction, Orders, Outcome, Progress, State
from service.rules.jobs import job_states
from service.rules.jobs.job_descriptions import SERVICE, describe_job, suggest_command_to_go_first
from service.rules.jobs.job_states import Action
from service.store.jobs import move_job_to_next_state
from service.store.models import Host, Job, Run, Subject

_LEASE_BYTES = 24
"""Number of random bytes of a lease's secret, so that nobody can guess it."""


class BusyError(Exception):
    """A host cannot claim a job, because it has another job, or another host has this job, until that lease ends."""

    def __init__(self, detail: str, until: datetime) -> None:
        super().__init__(detail)
        self.until = until


class WrongHostError(Exception):
    """The job is for another host."""


class LeaseLostError(Exception):
    """The lease is not valid: another runner has the job, or no runner has it."""


def claim_job(
    session: Session, row: Job, request: Claim, lease_time: timedelta, now: datetime, *, holder: str | None = None
) -> str:
    """Lease a job to a runner; return the secret that the runner presents with each report.

    Parameters
    ----------
    lease_time
        How long the runner keeps the job without a report.
    holder
        The claimant according to its token, because a host name proves nothing; None without tokens. While the lease
        lasts, only the holder may report about it or claim the job once more.

    Raises
    ------
    BusyError
        If the host measures something else, or another host has the job.
    WrongHostError
        If the job is for another host.
    JobTransitionError
        If the job's state does not allow a claim.
    """
    # Check that the job is for this host, and free.
    host = row.question.get("host")
    if host not in {None, request.host}:
        raise WrongHostError(f"job {row.id} is for the host {host}, but this host is {request.host}")
    if row.leased_until is not None and row.leased_until > now and (row.host, row.leased_by) != (request.host, holder):
        raise BusyError(f"the host {row.host} has already claimed job {row.id}", row.leased_until)
    # Check that the host is free.
    open_job = session.scalar(
        select(Job).where(Job.id != row.id, Job.host == request.host, Job.leased_until > now).limit(1)
    )
    if open_job is not None and open_job.leased_until is not None:
        description = describe_job(open_job.question["kind"], open_job.question["case"], open_job.asked_by)
        raise BusyError(
            f"the host {request.host} is busy with job {open_job.id}, {description}; "
            f"{suggest_command_to_go_first(open_job.id)}",
            open_job.leased_until,
        )
    # Start the lease.
    if row.state is not State.DISPATCHED:  # otherwise the attempt was counted at the dispatch
        row.attempts += 1
        row.fruitless += 1
    move_job_to_next_state(row, Action.CLAIM, request.host, "", now)
    row.host = request.host
    row.started_at = row.started_at or now
    row.log_url = request.log_url or row.log_url
    row.lease, row.leased_until, row.leased_by = secrets.token_urlsafe(_LEASE_BYTES), now + lease_time, holder
    return row.lease


def require_lease(row: Job, secret: str, holder: str | None) -> None:
    """Check that a runner holds the lease of a job.

    Raises
    ------
    LeaseLostError
        If the runner does not hold it.
    """
    if (
        row.lease is None
        or row.leased_by != holder
        or not secrets.compare_digest(row.lease.encode(), secret.encode(errors="replace"))
    ):
        raise LeaseLostError(f"job {row.id} is {row.state}, and this runner does not hold its lease")


def record_progress(
    session: Session, row: Job, report: Progress, lease_time: timedelta, now: datetime, *, holder: str | None = None
) -> Orders:
    """Record a progress report, extend a lease in force, and return whether the runner goes on, pauses or stops.

    Parameters
    ----------
    lease_time
        The new duration of the lease, from now.
    holder
        See :func:`claim_job`.

    Raises
    ------
    LeaseLostError
        If the runner does not hold the job's lease.
    """
    require_lease(row, report.lease, holder)
    _add_runs(session, row, report.measured)
    if row.state.open:  # A job that has ended keeps its last figures, and the sentence that says why it ended.
        row.runs_left, row.seconds_left = report.runs_left, report.seconds_left
        row.sentence = report.sentence or row.sentence
    if row.state is State.RUNNING:
        row.leased_until = now + lease_time
        return Orders(instruction=Instruction.CONTINUE)
    # A runner that still has to stop keeps its host. But a heartbeat can also arrive after the end of the runner's
    # work, which has freed the host.
    if row.leased_until is not None and row.leased_until > now:
        row.leased_until = now + lease_time
    return Orders(instruction=Instruction.PAUSE if row.state is State.PAUSED else Instruction.STOP, reason=row.sentence)


def finish_job(session: Session, row: Job, report: Finish, now: datetime, *, holder: str | None = None) -> None:
    """Record the end of a runner's work; reporting the same end twice is allowed (idempotent).

    Raises
    ------
    LeaseLostError
        If the runner does not hold the job's lease.
    """
    require_lease(row, report.lease, holder)
    _add_runs(session, row, report.measured)
    action = {Outcome.DONE: Action.DONE, Outcome.FAILED: Action.FAIL, Outcome.STOPPED: Action.PAUSE}[report.outcome]
    if job_states.is_possible(row.state, action):
        row.result = report.result if report.result is not None else row.result
        move_job_to_next_state(row, action, row.host or SERVICE, report.sentence, now)
    row.leased_until = now  # the host is free, but the secret stays valid, so that the runner can repeat its report


def _add_runs(session: Session, row: Job, runs: tuple[UUID, ...]) -> None:
    """Add runs to a job, except runs of other hosts or subjects than those of the lease."""
    foreign_runs = (
        select(Run.id)
        .join(Host, Host.id == Run.host_id)
        .join(Subject, Subject.id == Run.subject_id)
        .where(Run.id.in_(runs), or_(Host.name != row.host, Subject.name != row.question["subject"]))
    )
    excluded_runs = {*row.runs, *map(str, session.scalars(foreign_runs))}
    new_runs = [str(run) for run in dict.fromkeys(runs) if str(run) not in excluded_runs]
    if new_runs:
        row.runs = [*row.runs, *new_runs]
        row.fruitless = 0
