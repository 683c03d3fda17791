"""Runs: listed, and one as it was reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, TextClause, func, select
from sqlalchemy.orm import Session, contains_eager

from runner import contract
from runner.contract import Outcome
from runner.contract.gate import BaseQuery
from runner.contract.report import ASIDE
from service.rules.run_plan import StoredRun
from service.schemas.history import FailureSummary, RunPage, RunSummary
from service.store import shared_rows
from service.store.models import UNMEASURED, Case, Environment, Host, Revision, Run, RunCount, StoredReport, Subject
from service.store.stored_reports import unpack

Condition = ColumnElement[bool] | TextClause


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are asked for; None asks for all."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = None
    outcome: Outcome | None = None
    host: str | None = None
    quarantined: bool | None = None

    def places(self, session: Session) -> dict[str, list[int]]:
        """Return the ids that columns of a run may have, by the columns' names, the narrowest first."""
        asked = (
            ("revision_id", Revision.id, Revision.commit, self.revision),
            ("case_id", Case.id, Case.name, self.case),
            ("host_id", Host.id, Host.name, self.host),
            ("subject_id", Subject.id, Subject.name, self.subject),
        )
        return {
            column: list(session.scalars(select(identity).where(name == value)))
            for column, identity, name, value in asked
            if value is not None
        }

    def conditions(self, places: Mapping[str, list[int]]) -> list[Condition]:
        """Return the conditions on runs alone: what belongs to a run is looked up first, not joined to each.

        The database finds the runs by the narrowest place that is asked for, newest first, or by what is rare anyway.
        The others are written so that no index serves them: it knows nothing of how many runs each would leave, and
        guesses badly.
        """
        unmeasured = self.outcome not in {None, Outcome.MEASURED}
        rare = (unmeasured or self.quarantined is True) and not {"revision_id", "case_id"} & places.keys()
        conditions: list[Condition] = [UNMEASURED] if rare and unmeasured else []
        for number, (name, ids) in enumerate(places.items()):
            column = getattr(Run, name) + 0 if rare or number else getattr(Run, name)
            conditions.append(column == ids[0] if len(ids) == 1 else column.in_(ids))
        if self.outcome is not None:
            conditions.append(Run.outcome == self.outcome)
        if self.quarantined is not None:
            conditions.append(Run.quarantine.is_not(None) if self.quarantined else Run.quarantine.is_(None))
        return conditions

    def count(self, session: Session, places: Mapping[str, list[int]]) -> int:
        """Return how many runs there are."""
        if "revision_id" in places:
            return session.scalar(select(func.count()).select_from(Run).where(*self.conditions(places))) or 0
        conditions = [getattr(RunCount, name).in_(ids) for name, ids in places.items()]
        if self.outcome is not None:
            conditions.append(RunCount.outcome == self.outcome)
        if self.quarantined is not None:
            conditions.append(RunCount.quarantined == self.quarantined)
        return session.scalar(select(func.sum(RunCount.runs)).where(*conditions)) or 0


_PARTS = (Run.subject, Run.revision, Run.case, Run.host, Run.environment)


def joined(*columns: Any) -> Select[Any]:
    """Return the query for columns of runs and of what they are runs of."""
    return reduce(Select.join, _PARTS, select(*columns).select_from(Run))


_JOINED = joined(Run).options(*map(contains_eager, _PARTS))
_NEWEST_FIRST = (Run.started_at.desc(), Run.number.desc())


def report(session: Session, run_id: UUID) -> contract.Report | None:
    """Return a run as it was reported, if there is one with this id."""
    stored = select(StoredReport.document).join(Run, StoredReport.run_number == Run.number)
    document = session.scalar(stored.where(Run.id == run_id))
    return None if document is None else unpack(document)


def alike(session: Session, asked: BaseQuery) -> contract.Report | None:
    """Return the newest run of a case of a revision on a host in an environment, if one may be judged."""
    number = session.scalar(
        joined(Run.number)
        .where(
            Subject.name == asked.subject,
            Revision.commit == asked.revision,
            Case.key == shared_rows.case_key(asked.case),
            Host.name == asked.host,
            Environment.hash == asked.environment,
            Run.outcome == Outcome.MEASURED,
            Run.quarantine.is_(None),
        )
        .order_by(*_NEWEST_FIRST)
        .limit(1)
    )
    document = session.scalar(select(StoredReport.document).where(StoredReport.run_number == number))
    return None if document is None else unpack(document)


def page(session: Session, asked: RunFilter, limit: int, offset: int) -> RunPage:
    """Return a page of the runs asked for, the newest first."""
    places = asked.places(session)
    rows = _newest(session, asked.conditions(places), limit, offset)
    total = asked.count(session, places)
    return RunPage(items=[_summary(run) for run in rows], total=total, limit=limit, offset=offset)


def some(session: Session, run_ids: Sequence[UUID]) -> list[RunSummary]:
    """Return some runs in short, the newest first; what is not stored is left out."""
    return [_summary(run) for run in _newest(session, [Run.id.in_(run_ids)], len(run_ids))]


def quarantined_hosts(session: Session) -> list[RunSummary]:
    """Return the newest measured run of each host where that one is in quarantine."""
    judged = Run.quarantine.is_distinct_from(ASIDE)
    newest = (
        run
        for host in session.scalars(select(Host.id).order_by(Host.name)).all()
        for run in _newest(session, [Run.host_id == host, Run.outcome == Outcome.MEASURED, judged], 1)
    )
    return [_summary(run) for run in newest if run.quarantine is not None]


def _newest(session: Session, conditions: Sequence[Condition], limit: int, offset: int = 0) -> Sequence[Run]:
    """Return runs with all that is told of them: chosen first, so that nothing is joined to those left out."""
    chosen = select(Run.number).where(*conditions).order_by(*_NEWEST_FIRST).limit(limit).offset(offset)
    numbers = session.scalars(chosen).all()
    return session.scalars(_JOINED.where(Run.number.in_(numbers)).order_by(*_NEWEST_FIRST)).all()


def stored_for(session: Session, subject: str, host: str, cases: Sequence[contract.Case]) -> dict[int, list[StoredRun]]:
    """Return what a plan depends on of the runs of each case on a host, by the case's index.

    What is in quarantine is left to be measured again.
    """
    rows = session.execute(
        joined(Case.key, Revision.commit, Environment.hash, Run.outcome).where(
            Subject.name == subject, Host.name == host, Run.quarantine.is_(None)
        )
    )
    by_key: dict[str, list[StoredRun]] = {}
    for key, commit, environment, outcome in rows:
        by_key.setdefault(key, []).append(StoredRun(commit, environment, outcome))
    return {index: by_key.get(shared_rows.case_key(case), []) for index, case in enumerate(cases)}


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
