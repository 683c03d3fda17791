"""Orders bisects of sure drifts that several commits can have caused, for subjects that want that."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from runner.contract.job import Backend, JobOrder, Where
from service.jobs.scheduler import JobScheduler
from service.pipeline import next_bisect
from service.rules.jobs.automatic_acts import SERVICE
from service.rules.jobs.bisect_question import bisect_question
from service.rules.jobs.drifts_to_bisect import MOST_RUNS
from service.schemas.audit import AuditAction
from service.store import audit, hosts, jobs, points, subjects
from service.store.audit import Actor
from service.store.jobs import Requester


@dataclass(frozen=True, slots=True)
class DriftBisector:
    """Orders the next bisect of each subject."""

    scheduler: JobScheduler

    def order_bisects(self) -> None:
        """Order what is due, if a backend starts jobs and no host is measuring."""
        if not self.scheduler.starters:
            return
        now = self.scheduler.now()
        with self.scheduler.database.reading() as session:
            names = subjects.to_bisect(session)
            due = [self._order(session, name) for name in names] if names and hosts.are_quiet(session, now) else []
        for order in due:
            if order is not None and self.scheduler.backend(order) is not Backend.CALLER:
                self._place(order)

    def _order(self, session: Session, subject: str) -> JobOrder | None:
        drift = next_bisect.drift_to_order(session, subject, self.scheduler.now())
        question = bisect_question(drift, points.knobs(session, drift.environment_after)) if drift else None
        if question is None:
            return None
        return JobOrder(question=question, github=jobs.github_of(session, subject), most_runs=MOST_RUNS)

    def _place(self, order: JobOrder) -> None:
        job, new = self.scheduler.order(order, Requester(SERVICE, Where.API))
        if new:
            detail = {"kind": job.question.kind, "subject": job.question.subject, "case": job.question.case}
            with self.scheduler.database.writing() as session:
                actor, now = Actor(SERVICE), self.scheduler.now()
                audit.record(session, actor, AuditAction.JOB_ORDERED, f"job {job.id}", detail, now=now)
