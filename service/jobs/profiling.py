"""Orders profiles of both sides of confirmed drifts, where somebody starts jobs and the host is not measuring."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner.contract.job import Backend, JobOrder, ProfileQuestion, Where
from service.jobs.scheduler import JobScheduler
from service.rules.jobs import profiling
from service.rules.jobs.due import SERVICE
from service.schemas.history import Drift
from service.store import drifts, jobs, profiles
from service.store.drifts import DriftFilter
from service.store.jobs import Asked
from service.store.models import Job, Run, Subject
from service.store.profiles import ProfileFilter

_DRIFTS = 200
_QUIET = timedelta(minutes=2)
"""Without a run of the host: whoever measures there is not to be disturbed."""


@dataclass(slots=True)
class Profiling:
    """Looks for drifts whose profiles are to be ordered, once for each state of the drifts."""

    scheduler: JobScheduler
    _seen: int = field(default=-1, init=False)

    def look(self) -> None:
        """Order what is wanted."""
        if not self.scheduler.starters:
            return
        with self.scheduler.database.reading() as session:
            version = session.scalar(select(func.sum(Subject.drifts_version))) or 0
            if version == self._seen or not self._is_quiet(session):
                return
            found = profiling.wanted(
                drifts.listed(session, DriftFilter(), _DRIFTS).items,
                lambda drift: question(session, drift),
                lambda asked: _is_answered(session, asked),
            )
        self._seen = version
        for asked in found:
            order = JobOrder(question=asked)
            if self.scheduler.backend(order) is not Backend.CALLER:
                self.scheduler.order(order, Asked(SERVICE, Where.API))

    def _is_quiet(self, session: Session) -> bool:
        newest = session.scalar(select(func.max(Run.finished_at)))
        return newest is None or newest < self.scheduler.now() - _QUIET


def question(session: Session, drift: Drift) -> ProfileQuestion:
    """Return what has to be profiled of a drift, in the environment in which it was seen."""
    asked = jobs.about(session, drift)
    return ProfileQuestion(
        subject=asked.subject,
        case=asked.case,
        host=asked.host,
        variables=asked.variables,
        revision=asked.bad,
        against=asked.good,
    )


def _is_answered(session: Session, asked: ProfileQuestion) -> bool:
    """Whether both profiles are there, or a job was ordered for them before, whatever came of it."""
    revisions = [one for one in (asked.revision, asked.against) if one is not None]
    wanted = (ProfileFilter(asked.subject, asked.case, revision, asked.host) for revision in revisions)
    if all(profiles.newest(session, one) for one in wanted):
        return True
    document = jobs.document(asked)
    rows = session.scalars(select(Job.question).where(Job.kind == asked.kind, Job.subject == asked.subject))
    return any(row == document for row in rows)
