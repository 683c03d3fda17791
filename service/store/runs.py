"""Runs: listed, and one as it was reported."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, contains_eager

from runner import contract
from runner.contract import Outcome
from service.plan import StoredRun
from service.store import known
from service.store.ingest import unpack
from service.store.models import Case, Environment, Host, Revision, Run, StoredReport, Subject
from service.views import FailureSummary, RunPage, RunSummary


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
        """Return the conditions on runs alone: what belongs to a run is looked up first, not joined to each."""
        named = (
            (Run.subject_id, select(Subject.id).where(Subject.name == self.subject), self.subject, True),
            (Run.case_id, select(Case.id).where(Case.name == self.case), self.case, False),
            (Run.revision_id, select(Revision.id).where(Revision.commit == self.revision), self.revision, False),
            (Run.host_id, select(Host.id).where(Host.name == self.host), self.host, True),
        )
        # Only one subject or host has a name: by a single number its runs come out of the index in order.
        conditions: list[ColumnElement[bool]] = [
            column == found.scalar_subquery() if unique else column.in_(found)
            for column, found, value, unique in named
            if value is not None
        ]
        if self.outcome is not None:
            conditions.append(Run.outcome == self.outcome)
        if self.quarantined is not None:
            conditions.append(Run.quarantine.is_not(None) if self.quarantined else Run.quarantine.is_(None))
        return conditions


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


def report(session: Session, run_id: UUID) -> contract.Report | None:
    """Return a run as it was reported, if there is one with this id."""
    stored = select(StoredReport.document).join(Run, StoredReport.run_number == Run.number)
    document = session.scalar(stored.where(Run.id == run_id))
    return None if document is None else unpack(document)


def page(session: Session, asked: RunFilter, limit: int, offset: int) -> RunPage:
    """Return a page of the runs asked for, the newest first."""
    conditions = asked.conditions()
    total = session.scalar(select(func.count()).select_from(Run).where(*conditions)) or 0
    rows = _newest(session, conditions, limit, offset)
    return RunPage(items=[_summary(run) for run in rows], total=total, limit=limit, offset=offset)


def quarantined_hosts(session: Session) -> list[RunSummary]:
    """Return the newest measured run of each host where that one is in quarantine."""
    newest = (
        run
        for host in session.scalars(select(Host.id).order_by(Host.name)).all()
        for run in _newest(session, [Run.host_id == host, Run.outcome == Outcome.MEASURED], 1)
    )
    return [_summary(run) for run in newest if run.quarantine is not None]


def _newest(session: Session, conditions: Sequence[ColumnElement[bool]], limit: int, offset: int = 0) -> Sequence[Run]:
    """Return runs with all that is told of them: chosen first, so that nothing is joined to those left out."""
    chosen = select(Run.number).where(*conditions).order_by(*_NEWEST_FIRST).limit(limit).offset(offset)
    numbers = session.scalars(chosen).all()
    return session.scalars(_JOINED.where(Run.number.in_(numbers)).order_by(*_NEWEST_FIRST)).all()


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
