"""Texts that change whenever the data behind a page changes, so that open pages know when to reload."""

from __future__ import annotations

from sqlalchemy import Text, cast, func, select
from sqlalchemy.orm import Session

from runner.contract.report import hash_document
from service.store.jobs import OPEN
from service.store.models import DecisionRow, Job, Run, Series, Subject

_MAX_OPEN_RUN_NUMBERS = 10_000
"""At most this many of the newest run numbers can belong to open transactions."""


def read_global_version(session: Session) -> str:
    """Return a text that changes whenever anything is measured or decided, or judging changes drifts or events."""
    newest_number = session.scalar(select(func.max(Run.number))) or 0
    # Writers of different subjects commit in any order, so a run can appear after one with a higher number. Therefore
    # the newest runs are counted as well.
    n_newest = session.scalar(select(func.count()).where(Run.number > newest_number - _MAX_OPEN_RUN_NUMBERS)) or 0
    # Events are updated after drifts, in other transactions, so their versions count as well.
    versions_query = select(func.sum(Subject.drifts_version), func.sum(Subject.events_version))
    drifts_version, events_version = session.execute(versions_query).one()
    newest_decision = session.scalar(select(func.max(DecisionRow.id))) or 0
    return f"{newest_number}.{n_newest}.{drifts_version or 0}.{events_version or 0}.{newest_decision}"


def read_jobs_version(session: Session) -> str:
    """Return a text that changes whenever a job is ordered, changes its state or makes progress."""
    newest_id_and_change = session.execute(select(func.max(Job.id), func.max(Job.changed_at))).one()
    progress = session.execute(
        select(Job.id, func.length(cast(Job.runs, Text)), Job.runs_left, Job.seconds_left, Job.sentence)
        .where(Job.state.in_(OPEN))
        .order_by(Job.id)
    ).all()
    return hash_document([str(newest_id_and_change), str(progress)])


def read_series_version(session: Session, series_id: int) -> str:
    """Return a text that changes whenever a series gets a point or is judged."""
    versions = session.execute(select(Series.version, Series.judged_version).where(Series.id == series_id)).first()
    if versions is None:
        return "none"
    version, judged_version = versions
    return f"{version}.{judged_version}"
