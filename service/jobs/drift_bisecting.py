"""Orders bisects on idle hosts for drifts that several commits could have caused, if the subject's policy says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from runner.contract.job import Backend, JobOrder, State, Where
from service.config.settings import HOST_IDLE_TIME, NARROWING_RUNS
from service.jobs.scheduler import JobScheduler
from service.pipeline import next_bisect
from service.rules.jobs import bisect_pause_and_end
from service.rules.jobs.bisect_exclusions import is_idle
from service.rules.jobs.bisect_pause_and_end import OpenJob
from service.rules.jobs.bisect_question import build_bisect_question
from service.rules.jobs.job_descriptions import SERVICE
from service.schemas.audit import AuditAction
from service.store import audit, hosts, jobs, subjects
from service.store.audit import Actor
from service.store.jobs import Requester
from service.store.models import Job
from service.store.series import points

_MAX_INTERVAL = timedelta(minutes=1)
"""The longest time between two checks of a subject."""


@dataclass(frozen=True, slots=True)
class DriftBisector:
    """Narrows open ranges down on idle hosts: orders the next bisect of each subject, and gives way to other jobs.

    Attributes
    ----------
    runs_a_day
        How many runs its bisects may measure within 24 hours, for each subject.
    min_idle_time
        The time without a new run after which a host counts as idle.
    """

    scheduler: JobScheduler
    runs_a_day: int = NARROWING_RUNS
    min_idle_time: timedelta = HOST_IDLE_TIME
    _last_checks: dict[str, datetime] = field(default_factory=dict, init=False)

    def work(self) -> None:
        """Pause bisects in favour of jobs that people ordered, and order the bisects that are due."""
        self.preempt_bisects()
        self.order_bisects()

    def order_bisects(self) -> None:
        """Order the bisects that are due, if a backend starts jobs and the host is not measuring."""
        if not self.scheduler.starters:
            return
        now = self.scheduler.now()
        with self.scheduler.database.reading() as session:
            names = [name for name in subjects.list_subjects_to_bisect(session) if self._is_due(name, now)]
            orders = [self._build_next_order(session, name) for name in names]
        self._last_checks.update(dict.fromkeys(names, now))
        for order in orders:
            # A job that only the caller can start would wait in vain: nobody has asked for it.
            if order is not None and self.scheduler.choose_backend(order) is not Backend.CALLER:
                self._place_order(order)

    def preempt_bisects(self) -> None:
        """Pause, resume and end the service's own bisects, depending on whether other jobs need the hosts."""
        now = self.scheduler.now()
        with self.scheduler.database.reading() as session:
            if not any(_is_bisect_of_service(row) for row in jobs.list_open_jobs(session)):
                return
        with self.scheduler.database.writing() as session:
            rows = {row.id: row for row in jobs.list_open_jobs(session)}
            # Leave out the service's own profiles: no bisect waits for them.
            open_jobs = [
                _build_open_job(session, row)
                for row in rows.values()
                if row.asked_by != SERVICE or _is_bisect_of_service(row)
            ]
            action_of_job = bisect_pause_and_end.decide_actions(
                open_jobs,
                lambda host: is_idle(hosts.find_last_seen(session, host), now, self.min_idle_time),
                now,
            )
            for job_id, action in action_of_job.items():
                jobs.move_job_to_next_state(rows[job_id], action.action, SERVICE, action.reason, now)
        if action_of_job:
            self.scheduler.wake()

    def _is_due(self, subject: str, now: datetime) -> bool:
        """Return whether a subject was not checked recently."""
        last_check = self._last_checks.get(subject)
        # If hosts count as idle sooner than the longest interval ends, look sooner as well.
        return last_check is None or last_check <= now - min(_MAX_INTERVAL, self.min_idle_time)

    def _build_next_order(self, session: Session, subject: str) -> JobOrder | None:
        """Return the order of the next bisect of a subject; None if no drift needs one, or it cannot be ordered."""
        drift, runs = next_bisect.choose_drift_to_order(
            session, subject, self.scheduler.now(), runs_a_day=self.runs_a_day, min_idle_time=self.min_idle_time
        )
        if drift is None:
            return None
        question = build_bisect_question(drift, points.find_settings(session, drift.environment_after))
        if question is None:
            return None
        return JobOrder(question=question, github=jobs.find_github_repository(session, subject), max_runs=runs)

    def _place_order(self, order: JobOrder) -> None:
        """Order a bisect in the name of the service; write a new order to the audit log."""
        job, is_new = self.scheduler.order(order, Requester(SERVICE, Where.API))
        if is_new:
            detail = {"kind": job.question.kind, "subject": job.question.subject, "case": job.question.case}
            with self.scheduler.database.writing() as session:
                now = self.scheduler.now()
                audit.record_entry(session, Actor(SERVICE), AuditAction.JOB_ORDERED, f"job {job.id}", detail, now=now)


def _is_bisect_of_service(row: Job) -> bool:
    """Return whether a job is a bisect that the service ordered by itself."""
    return row.asked_by == SERVICE and row.kind == "bisect"


def _build_open_job(session: Session, row: Job) -> OpenJob:
    """Return the facts about an open job that the rules of preemption need."""
    by_service = _is_bisect_of_service(row)
    drift = row.question.get("drift")
    settled_reason = ""
    is_withdrawn = False
    if by_service and drift:
        settled_reason, is_withdrawn = next_bisect.explain_why_settled(session, drift)
    last_transition: dict[str, str] = row.steps[-1] if row.steps else {}
    return OpenJob(
        id=row.id,
        state=row.state,
        backend=row.backend,
        host=row.host or row.question.get("host"),
        created_at=row.created_at,
        by_service=by_service,
        was_paused=by_service and row.state is State.PAUSED and last_transition.get("by") == SERVICE,
        is_withdrawn=is_withdrawn,
        settled_reason=settled_reason,
    )
