"""Places orders for jobs, and carries out decisions about them, for both the API and the pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http import HTTPStatus
from math import ceil

from sqlalchemy.orm import Session

from runner.contract.job import Job, JobDecision, JobOrder
from runner.contract.number_text import capitalize_first_letter
from service.jobs.extension import find_scheduler
from service.jobs.scheduler import WrongOrderError
from service.pipeline import lease_jobs
from service.rules.jobs.job_states import Action, JobTransitionError
from service.schemas.audit import AuditAction
from service.store import jobs
from service.store.jobs import Requester
from service.store.models import Job as JobRow
from service.web.access import audit_log, token_limits_and_ownership
from service.web.access.author import find_author
from service.web.app_resources import get_database
from service.web.problems import ProblemError, make_field_problem, make_not_found


def place_order(order: JobOrder, requester: Requester) -> tuple[Job, bool]:
    """Place an order with the scheduler; return the job, and whether it is new.

    Raises
    ------
    ProblemError
        422, where the order cannot be carried out; 403, where it is beyond the limits of the caller's token.
    """
    if order.github is not None:
        token_limits_and_ownership.require_access_to_publication(order.github)
    try:
        order = find_scheduler().fill_in_question(order)
        if order.question is not None:
            token_limits_and_ownership.require_access_to_subject(order.question.subject, order.question.host)
        job, is_new = find_scheduler().order(order, requester)
    except WrongOrderError as error:
        raise make_field_problem(error.field, str(error)) from None
    if is_new:
        detail = {"kind": job.question.kind, "subject": job.question.subject, "case": job.question.case}
        with get_database().writing() as session:
            audit_log.record_action(session, AuditAction.JOB_ORDERED, f"job {job.id}", detail, requester.name)
    return job, is_new


def decide_job(job_id: int, action: Action, decision: JobDecision) -> Job:
    """Pause, resume or cancel a job on behalf of the caller.

    Raises
    ------
    ProblemError
        404, where there is no such job; 409, where its state does not allow the action; 403, where the job is beyond
        the limits of the caller's token.
    """
    author = find_author(decision.author)
    with open_job_for_change(job_id) as (session, row, now):
        jobs.move_job_to_next_state(row, action, author, decision.reason, now)
        detail = {"act": action.value, "reason": decision.reason}
        audit_log.record_action(session, AuditAction.JOB_CHANGED, f"job {job_id}", detail, author)
        job = jobs.build_view(row)
    find_scheduler().wake()
    return job


@contextmanager
def open_job_for_change(
    job_id: int, *, only_own_jobs: bool = False, claiming_host: str | None = None
) -> Iterator[tuple[Session, JobRow, datetime]]:
    """Yield the session and the row of a job for a change, and translate scheduler errors to problem documents.

    Parameters
    ----------
    only_own_jobs
        Whether a job of GitHub Actions may change only the jobs that were dispatched to its own repository.
    claiming_host
        The host that wants to claim the job.

    Raises
    ------
    ProblemError
        404, where there is no such job; 403, where the job is beyond the limits of the caller's token, or was not
        dispatched to the caller's repository; 409, where the state of the job, its lease or its host does not allow the
        change.
    """
    now = datetime.now(UTC)
    with get_database().writing() as session:
        row = jobs.find_job(session, job_id)
        if row is None:
            raise make_not_found(f"job {job_id}")
        token_limits_and_ownership.require_access_to_subject(
            row.question["subject"], claiming_host or row.host or row.question.get("host")
        )
        if only_own_jobs:
            token_limits_and_ownership.require_own_job(row.github)
        try:
            yield session, row, now
        except lease_jobs.BusyError as error:
            headers = {"Retry-After": str(max(1, ceil((error.until - now).total_seconds())))}
            raise ProblemError(HTTPStatus.CONFLICT, f"Job {job_id} is waiting: {error}.", headers=headers) from None
        except (JobTransitionError, lease_jobs.LeaseLostError, lease_jobs.WrongHostError) as error:
            raise ProblemError(HTTPStatus.CONFLICT, capitalize_first_letter(f"{error}.")) from None
