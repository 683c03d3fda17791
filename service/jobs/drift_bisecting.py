"""Orders bisects of sure drifts that several commits can have caused, for subjects that want that."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from runner.contract.job import Backend, JobOrder, Where
from service.jobs.scheduler import JobScheduler
from service.pipeline import next_bisect
from service.rules.jobs.automatic_acts import SERVICE
from service.rules.jobs.bisect_question import bisect_question
from service.rules.jobs.drifts_to_bisect import MOST_RUNS
from service.schemas.audit import AuditAction
from service.store import audit, jobs, points, subjects
from service.store.audit import Actor
from service.store.jobs import Requester

_INTERVAL = timedelta(minutes=1)
"""Time between two looks at a subject."""


@dataclass(frozen=True, slots=True)
class DriftBisector:
    """Orders the next bisect of each subject."""

    scheduler: JobScheduler
    _looked_at: dict[str, datetime] = field(default_factory=dict, init=False)

    def order_bisects(self) -> None:
        """Order what is due, if a backend starts jobs and the host is not measuring."""
        if not self.scheduler.starters:
            return
        now = self.scheduler.now()
        with self.scheduler.database.reading() as session:
            names = [name for name in subjects.to_bisect(session) if self._is_due(name, now)]
            due = [self._order(session, name) for name in names]
        self._looked_at.update(dict.fromkeys(names, now))
        for order in due:
            if order is not None and self.scheduler.backend(order) is not Backend.CALLER:
                self._place(order)

    def _is_due(self, subject: str, now: datetime) -> bool:
        looked_at = self._looked_at.get(subject)
        return looked_at is None or looked_at <= now - _INTERVAL

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
