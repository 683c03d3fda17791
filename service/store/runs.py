"""Runs: stored once, never changed."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, contains_eager, undefer

from runner import contract
from runner.contract import Outcome
from service.levels import Level, level
from service.plan import StoredRun
from service.store import known, revisions
from service.store.models import Case, Environment, Host, Point, Revision, Run, Series, Subject
from service.views import FailureSummary, RunPage, RunSummary


class RunExistsError(Exception):
    """Another report has this id already, and a run never changes."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are asked for; None asks for all."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = None
    outcome: Outcome | None = None
    host: str | None = None
    quarantined: bool | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on the joined tables."""
        asked = (
            (Subject.name, self.subject),
            (Case.name, self.case),
            (Revision.commit, self.revision),
            (Run.outcome, self.outcome),
            (Host.name, self.host),
            (Run.quarantine.is_not(None), self.quarantined),
        )
        return [column == value for column, value in asked if value is not None]


_JOINED = (
    select(Run)
    .join(Run.subject)
    .join(Run.revision)
    .join(Run.case)
    .join(Run.host)
    .join(Run.environment)
    .options(
        contains_eager(Run.subject),
        contains_eager(Run.revision),
        contains_eager(Run.case),
        contains_eager(Run.host),
        contains_eager(Run.environment),
    )
)
_NEWEST_FIRST = (Run.started_at.desc(), Run.id)


def ingest(session: Session, report: contract.Report) -> bool:
    """Store a report with its points; False where this very report is stored already.

    Raises
    ------
    RunExistsError
        Where another report has the id.
    """
    document = json.dumps(report.model_dump(mode="json"), sort_keys=True, ensure_ascii=False).encode()
    digest = hashlib.sha256(document).hexdigest()
    stored = session.scalar(select(Run.digest).where(Run.id == report.run_id))
    if stored == digest:
        return False
    if stored is not None:
        raise RunExistsError
    _add(session, report, digest, zlib.compress(document))
    return True


def report(session: Session, run_id: UUID) -> contract.Report | None:
    """Return a run as it was reported, if there is one with this id."""
    run = session.get(Run, run_id, options=[undefer(Run.report)])
    return None if run is None else contract.Report.model_validate_json(zlib.decompress(run.report))


def page(session: Session, asked: RunFilter, limit: int, offset: int) -> RunPage:
    """Return a page of the runs asked for, the newest first."""
    wanted = _JOINED.where(*asked.conditions())
    total = session.scalar(select(func.count()).select_from(wanted.with_only_columns(Run.id).subquery())) or 0
    rows = session.scalars(wanted.order_by(*_NEWEST_FIRST).limit(limit).offset(offset))
    return RunPage(items=[_summary(run) for run in rows], total=total, limit=limit, offset=offset)


def quarantined_hosts(session: Session) -> list[RunSummary]:
    """Return the newest measured run of each host where that one is in quarantine."""
    newest = (
        session.scalar(
            _JOINED.where(Run.host_id == host, Run.outcome == Outcome.MEASURED).order_by(*_NEWEST_FIRST).limit(1)
        )
        for host in session.scalars(select(Host.id).order_by(Host.name))
    )
    return [_summary(run) for run in newest if run is not None and run.quarantine is not None]


def stored_for(session: Session, subject: str, host: str, cases: Sequence[contract.Case]) -> dict[int, list[StoredRun]]:
    """Return what a plan depends on of the runs of each case on a host, by the case's index.

    What is in quarantine is left to be measured again.
    """
    rows = session.execute(
        select(Case.key, Revision.commit, Environment.hash, Run.outcome)
        .join(Run.subject)
        .join(Run.revision)
        .join(Run.case)
        .join(Run.host)
        .join(Run.environment)
        .where(Subject.name == subject, Host.name == host, Run.quarantine.is_(None))
    )
    by_key: dict[str, list[StoredRun]] = {}
    for key, commit, environment, outcome in rows:
        by_key.setdefault(key, []).append(StoredRun(commit, environment, outcome))
    return {index: by_key.get(known.case_key(case), []) for index, case in enumerate(cases)}


def _add(session: Session, report: contract.Report, digest: str, document: bytes) -> None:
    subject = known.subject(session, report.subject)
    revision = revisions.ensure(session, subject, report.revision)
    run = Run(
        id=report.run_id,
        subject_id=subject.id,
        revision_id=revision.id,
        case_id=known.case(session, report.case).id,
        host_id=known.host(session, report.host.name).id,
        environment_id=known.environment(session, report.environment).id,
        outcome=report.outcome,
        failure_stage=report.failure and report.failure.stage,
        failure_message=report.failure and report.failure.message,
        quarantine=report.quarantine or None,
        started_at=report.started_at,
        finished_at=report.finished_at,
        digest=digest,
        report=document,
    )
    session.add(run)
    session.flush()
    series = _series(session, run, report.metrics)
    session.add_all(_point(run, series[metric], level(report.readings(metric))) for metric in report.metrics)


def _point(run: Run, series_id: int, summary: Level) -> Point:
    return Point(
        series_id=series_id,
        run_id=run.id,
        status=summary.status,
        value=summary.value,
        low=summary.low,
        high=summary.high,
        n=len(summary.samples),
        samples=list(summary.samples),
    )


def _series(session: Session, run: Run, metrics: Sequence[str]) -> dict[str, int]:
    """Return the series of a run's metrics, which all go up a version by the points they get."""
    place = {"subject_id": run.subject_id, "host_id": run.host_id, "case_id": run.case_id}
    rows = list(session.scalars(select(Series).filter_by(**place).where(Series.metric.in_(metrics))))
    there = {row.metric for row in rows}
    # In the order of the report, so that the same history gives the same numbers on every database.
    new = [Series(**place, metric=metric, version=0) for metric in dict.fromkeys(metrics) if metric not in there]
    session.add_all(new)
    for row in rows + new:
        row.version += 1
    session.flush()
    return {row.metric: row.id for row in rows + new}


def _summary(run: Run) -> RunSummary:
    failure = None
    if run.failure_stage is not None:
        failure = FailureSummary(stage=run.failure_stage, message=run.failure_message or "")
    return RunSummary(
        run_id=run.id,
        subject=run.subject.name,
        host=run.host.name,
        case=run.case.name,
        workload=run.case.workload,
        revision=run.revision.commit,
        title=run.revision.title,
        environment=run.environment.hash,
        outcome=run.outcome,
        failure=failure,
        quarantine=run.quarantine,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
