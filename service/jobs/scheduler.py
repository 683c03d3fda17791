"""Schedules jobs: takes orders, applies actions that are due, starts jobs, and lets their results be posted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

from runner.contract.job import Backend, Job, JobOrder, State
from service.config.settings import JOB_LEASE
from service.rules.jobs.backend_choice import BackendRefusedError, choose_backend
from service.rules.jobs.bisect_question import build_bisect_question
from service.rules.jobs.due_job_actions import DueAction, find_due_action
from service.rules.jobs.job_descriptions import SERVICE
from service.rules.jobs.job_states import Action
from service.store import jobs
from service.store.engine.database import Database
from service.store.jobs import Requester
from service.store.models import Job as JobRow
from service.store.series import drifts, points

log = logging.getLogger(__name__)

_POSTING_LEASE = timedelta(minutes=3)
"""The lease of a result by the process that posts it: longer than posting takes."""
_RETRY_DELAY = timedelta(minutes=1)
"""How long a job waits before it is started again after an unexpected error."""


class RemoteCallFailed(Exception):
    """A remote service refused a call or did not answer."""

    def __init__(self, reason: str, retry_at: datetime | None) -> None:
        """Store the reason, and the time at which to retry the call; None to give up."""
        super().__init__(reason)
        self.retry_at = retry_at


class WrongOrderError(ValueError):
    """An order cannot be carried out; the error contains the wrong field and the reason."""

    def __init__(self, field_name: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field_name


class Starter(Protocol):
    """Starts jobs, on one backend."""

    def explain_objection(self, order: JobOrder) -> str:
        """Return why the backend cannot start a job; empty if it can."""

    def has_room(self) -> bool:
        """Return whether the backend can start another job now; until it can, jobs stay in the queue."""

    def start(self, job: Job) -> str:
        """Start a runner that claims the job; return the address of its log, empty if unknown.

        Raises
        ------
        RemoteCallFailed
            If the runner could not be started.
        """

    def is_waiting(self, job_id: int) -> bool:
        """Return whether a job that was started, but not claimed by a runner yet, is known to wait for its turn."""


class ResultPoster(Protocol):
    """Posts results in the threads where the jobs were requested."""

    def post_result(self, job: Job, attempts: int) -> None:
        """Post the result of a job. The call is idempotent: a result is not posted twice.

        Raises
        ------
        RemoteCallFailed
            If the result could not be posted.
        """


def _get_now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=True)
class JobScheduler:
    """Schedules the jobs of a service.

    Attributes
    ----------
    database
        The database with the jobs.
    starters
        The starter of each backend.
    result_poster
        Posts results; None if results cannot be posted.
    lease_time
        How long a runner keeps a job without a progress report.
    now
        Returns the current time.
    awake_since
        The time since which runners can reach the service. Jobs whose lease expired earlier are not lost.
    wake
        Wakes the thread that calls :meth:`work`.
    """

    database: Database
    starters: dict[Backend, Starter] = field(default_factory=dict)
    result_poster: ResultPoster | None = None
    lease_time: timedelta = JOB_LEASE
    now: Callable[[], datetime] = _get_now
    awake_since: datetime = field(default_factory=_get_now)
    wake: Callable[[], None] = lambda: None

    def order(self, order: JobOrder, requester: Requester) -> tuple[Job, bool]:
        """Take an order; return its job, and whether it is new: an open job with the same question is not repeated.

        Raises
        ------
        WrongOrderError
            If the order cannot be carried out.
        """
        now = self.now()
        if order.deadline_at is not None and order.deadline_at <= now:
            raise WrongOrderError("deadline_at", "must be in the future")
        order = self.fill_in_question(order)
        with self.database.writing() as session:
            if order.github is None and order.question is not None:
                order = order.model_copy(
                    update={"github": jobs.find_github_repository(session, order.question.subject)}
                )
            row, is_new = jobs.store_order(
                session, order.model_copy(update={"backend": self.choose_backend(order)}), requester, now
            )
            job = jobs.build_view(row)
        self.wake()
        return job, is_new

    def fill_in_question(self, order: JobOrder) -> JobOrder:
        """Return an order with its question, that is, what its job is to measure or to find.

        If the order names a drift instead, the question is to bisect the commit that caused the drift.

        Raises
        ------
        WrongOrderError
            If there is no such drift, or if no valid job can be built from it.
        """
        if order.drift is None:
            return order
        with self.database.reading() as session:
            drift = drifts.find_drift(session, order.drift)
            if drift is None:
                raise WrongOrderError("drift", f"there is no drift {order.drift}")
            question = build_bisect_question(drift, points.find_settings(session, drift.environment_after))
        if question is None:
            raise WrongOrderError("drift", "the name of its case or metric is too long for a job")
        return order.model_copy(update={"question": question, "drift": None})

    def choose_backend(self, order: JobOrder) -> Backend:
        """Return the backend that starts a job: that in the order, or else the first one that can start it.

        Raises
        ------
        WrongOrderError
            If the named backend cannot start the job.
        """
        objections = {backend: starter.explain_objection(order) for backend, starter in self.starters.items()}
        try:
            return choose_backend(order.backend, objections)
        except BackendRefusedError as error:
            raise WrongOrderError("backend", str(error)) from None

    def work(self) -> None:
        """Apply all actions that are due, and post all results that are due."""
        with self.database.reading() as session:
            due_jobs = [row.id for row in jobs.list_open_jobs(session) if self._find_due_action(row)]
        for job_id in due_jobs:
            while self._apply_due_action(job_id):
                pass
        while self._post_result():
            pass

    def _find_due_action(self, row: JobRow) -> DueAction | None:
        """Return the action that is due for a job; None if nothing is due, or if this process cannot carry it out."""
        # Extend a lease that expired while runners could not reach the service.
        leased_until = None
        if row.leased_until is not None:
            leased_until = max(row.leased_until, self.awake_since + self.lease_time)
        starter = self.starters.get(row.backend)
        waits_for_turn = row.state is State.DISPATCHED and starter is not None and starter.is_waiting(row.id)
        job = replace(jobs.build_snapshot(row), leased_until=leased_until, waits_for_turn=waits_for_turn)
        due_action = find_due_action(job, self.now())
        if due_action is None:
            return None
        if due_action.action is Action.DISPATCH and (starter is None or not starter.has_room()):
            return None  # Another process of the service may have the starter, or room for the job.
        return due_action

    def _apply_due_action(self, job_id: int) -> bool:
        """Apply the next due action of a job; return whether further actions may be due.

        After a start there are none: the next action depends on the runner, or is due later.
        """
        with self.database.writing() as session:
            row = jobs.find_job(session, job_id)
            due_action = self._find_due_action(row) if row else None
            if row is None or due_action is None:
                return False
            jobs.move_job_to_next_state(row, due_action.action, SERVICE, due_action.reason, self.now())
            dispatched_job = jobs.build_view(row) if due_action.action is Action.DISPATCH else None
        if dispatched_job is not None:
            self._start_job(dispatched_job)
        return dispatched_job is None

    def _start_job(self, job: Job) -> None:
        """Start a job by the starter of its backend, and record the address of its log, or why the start failed."""
        failure = log_url = ""
        retry_at: datetime | None = None
        try:
            log_url = self.starters[job.backend].start(job)
        except RemoteCallFailed as error:
            failure = str(error)
            retry_at = error.retry_at
        except Exception as error:
            log.exception("job %s could not be started", job.id)
            failure = f"{type(error).__name__}: {error}"
            retry_at = self.now() + _RETRY_DELAY
        if failure:
            log.warning("job %s was not started: %s", job.id, failure)
        with self.database.writing() as session:
            row = jobs.find_job(session, job.id)
            if row is not None and failure and row.state is State.DISPATCHED:
                jobs.record_failed_start(row, failure, retry_at, self.now())
            elif row is not None and log_url:
                row.log_url = log_url

    def record_ended_process(self, job_id: int, attempt: int, reason: str) -> None:
        """Mark a job as lost when the process of its attempt ends, unless the job has ended or been started again."""
        with self.database.writing() as session:
            row = jobs.find_job(session, job_id)
            if row is not None and row.attempts == attempt and row.state in {State.DISPATCHED, State.RUNNING}:
                jobs.move_job_to_next_state(row, Action.LOSE, SERVICE, reason, self.now())
        self.wake()

    def _post_result(self) -> bool:
        """Post the result of one job in the thread where it was requested; return whether more may be due."""
        poster = self.result_poster
        if poster is None:
            return False
        now = self.now()
        with self.database.writing() as session:
            row = jobs.find_due_result(session, now)
            if row is None:
                return False
            row.post_at = now + _POSTING_LEASE  # If this process is killed, the result falls due again then.
            row.post_attempts += 1
            job = jobs.build_view(row)
            attempts = row.post_attempts
        retry_at = None
        try:
            poster.post_result(job, attempts)
        except RemoteCallFailed as error:
            log.warning("the result of job %s was not posted: %s", job.id, error)
            retry_at = error.retry_at
        with self.database.writing() as session:
            row = jobs.find_job(session, job.id)
            if row is not None:
                row.post_at = retry_at
        return True
