"""Orders profiles of both sides of confirmed drifts, if a backend starts jobs and no host is measuring."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner.contract.job import Backend, JobOrder, ProfileQuestion, Where
from service.config.settings import HOST_IDLE_TIME
from service.jobs.scheduler import JobScheduler
from service.rules.jobs import drifts_to_profile
from service.rules.jobs.bisect_question import build_bisect_question
from service.rules.jobs.job_descriptions import SERVICE
from service.schemas.history import Drift
from service.store import jobs, profiles
from service.store.jobs import Requester
from service.store.models import Job, Run, Subject
from service.store.profiles import ProfileFilter
from service.store.series import drifts, points
from service.store.series.drifts import DriftFilter

_NEWEST_DRIFTS = 200
"""How many of the newest drifts, over all subjects, are considered."""


@dataclass(slots=True)
class DriftProfiler:
    """Orders the profiles of drifts, whenever the drifts have changed.

    Attributes
    ----------
    min_idle_time
        The time without a new run after which the hosts count as idle.
    """

    scheduler: JobScheduler
    min_idle_time: timedelta = HOST_IDLE_TIME
    _last_version: int = field(default=-1, init=False)
    """The version of the drifts whose profiles were last ordered; -1 if none were."""

    def order_profiles(self) -> None:
        """Order the profiles that are missing, if the drifts have changed and the hosts are idle."""
        if not self.scheduler.starters:
            return
        with self.scheduler.database.reading() as session:
            version = session.scalar(select(func.sum(Subject.drifts_version))) or 0
            if version == self._last_version or not self._are_hosts_idle(session):
                return
            orders = [
                JobOrder(question=question, github=jobs.find_github_repository(session, question.subject))
                for question in drifts_to_profile.list_questions_to_order(
                    drifts.list_drifts(session, DriftFilter(), _NEWEST_DRIFTS).items,
                    lambda drift: build_profile_question(session, drift),
                    lambda question: _is_answered_or_ordered(session, question),
                )
            ]
        for order in orders:
            # A job that only the caller can start would wait in vain: nobody has asked for it.
            if self.scheduler.choose_backend(order) is not Backend.CALLER:
                self.scheduler.order(order, Requester(SERVICE, Where.API))
        self._last_version = version  # If an order fails, the next call orders the rest.

    def _are_hosts_idle(self, session: Session) -> bool:
        """Return whether no host has finished a run recently."""
        newest_run_end = session.scalar(select(func.max(Run.finished_at)))
        return newest_run_end is None or newest_run_end < self.scheduler.now() - self.min_idle_time


def build_profile_question(session: Session, drift: Drift) -> ProfileQuestion | None:
    """Return the question of a job that profiles both sides of a drift, in its environment; None if impossible."""
    bisect = build_bisect_question(drift, points.find_settings(session, drift.environment_after))
    if bisect is None:
        return None
    return ProfileQuestion(
        subject=bisect.subject,
        case=bisect.case,
        host=bisect.host,
        variables=bisect.variables,
        revision=bisect.bad,
        against=bisect.good,
    )


def _is_answered_or_ordered(session: Session, question: ProfileQuestion) -> bool:
    """Return whether both profiles exist, or whether a job for them was ordered before, whatever its result."""
    revisions = [revision for revision in (question.revision, question.against) if revision is not None]
    filters = (ProfileFilter(question.subject, question.case, revision, question.host) for revision in revisions)
    if all(profiles.find_newest_profile_id(session, profile_filter) for profile_filter in filters):
        return True
    document = jobs.build_question_document(question)
    rows = session.scalars(select(Job.question).where(Job.kind == question.kind, Job.subject == question.subject))
    return any(row == document for row in rows)
