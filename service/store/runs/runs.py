"""Lists of runs, and single reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, TextClause, func, or_, select, true
from sqlalchemy.orm import Session, contains_eager

from runner import contract
from runner.contract import Outcome
from runner.contract.quarantine import REASONS_UNRELATED_TO_HOST, REUSED
from service.rules.plan.settled_revisions import StoredRun
from service.schemas.history import FailureSummary, RunPage, RunSummary
from service.store import shared_rows
from service.store.engine import bulk
from service.store.models import UNMEASURED, Case, Environment, Host, Revision, Run, RunCount, StoredReport, Subject
from service.store.revisions import named_commits
from service.store.runs.stored_reports import unpack_report

Condition = ColumnElement[bool] | TextClause


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Selects runs; None selects all."""

    subject: str | None = None
    case: str | None = None
    revision: str | None = None
    outcome: Outcome | None = None
    host: str | None = None
    quarantined: bool | None = None

    def list_ids(self, session: Session) -> dict[str, list[int]]:
        """Return the ids that columns of a run may have, by column name, most selective column first."""
        filters = (
            ("revision_id", Revision.id, named_commits.match_commit, self.revision),
            ("case_id", Case.id, Case.name.__eq__, self.case),
            ("host_id", Host.id, Host.name.__eq__, self.host),
            ("subject_id", Subject.id, Subject.name.__eq__, self.subject),
        )
        return {
            column: list(session.scalars(select(identity).where(match(value))))
            for column, identity, match, value in filters
            if value is not None
        }

    def list_conditions(self, ids: Mapping[str, list[int]]) -> list[Condition]:
        """Return the conditions on the table of runs only: related rows are looked up first instead of joined.

        The database finds the runs through the index of the most selective column, newest first, or through an index of
        rare runs. The other conditions are written so that no index matches them, because the query planner cannot
        estimate how selective they are, and would choose a bad index.
        """
        is_unmeasured = self.outcome not in {None, Outcome.MEASURED}
        # A revision or a case selects fewer runs than the index of rare runs.
        uses_rare_index = (is_unmeasured or self.quarantined is True) and not {"revision_id", "case_id"} & ids.keys()
        conditions: list[Condition] = [UNMEASURED] if uses_rare_index and is_unmeasured else []
        for position, (name, column_ids) in enumerate(ids.items()):
            # Adding 0 keeps the index of the column from matching.
            column = getattr(Run, name) + 0 if uses_rare_index or position else getattr(Run, name)
            conditions.append(column == column_ids[0] if len(column_ids) == 1 else column.in_(column_ids))
        if self.outcome is not None:
            conditions.append(Run.outcome == self.outcome)
        if self.quarantined is not None:
            conditions.append(Run.quarantine.is_not(None) if self.quarantined else Run.quarantine.is_(None))
        return conditions

    def count(self, session: Session, ids: Mapping[str, list[int]]) -> int:
        """Return how many runs are selected: counted for a revision, which the stored counts do not distinguish."""
        if "revision_id" in ids:
            return session.scalar(select(func.count()).select_from(Run).where(*self.list_conditions(ids))) or 0
        conditions = [getattr(RunCount, name).in_(column_ids) for name, column_ids in ids.items()]
        if self.outcome is not None:
            conditions.append(RunCount.outcome == self.outcome)
        if self.quarantined is not None:
            conditions.append(RunCount.quarantined == self.quarantined)
        return session.scalar(select(func.sum(RunCount.runs)).where(*conditions)) or 0


_RELATIONSHIPS = (Run.subject, Run.revision, Run.case, Run.host, Run.environment)


def select_joined_runs(*columns: Any) -> Select[Any]:
    """Return a query for columns of runs and of their subject, revision, case, host and environment."""
    return reduce(Select.join, _RELATIONSHIPS, select(*columns).select_from(Run))


_SELECT_RUNS = select_joined_runs(Run).options(*map(contains_eager, _RELATIONSHIPS))
NEWEST_FIRST = (Run.started_at.desc(), Run.number.desc())


def find_report(session: Session, run_id: UUID) -> contract.Report | None:
    """Return the report of the run with this id; None if there is none."""
    report_query = select(StoredReport.document).join(Run, StoredReport.run_number == Run.number)
    document = session.scalar(report_query.where(Run.id == run_id))
    return None if document is None else unpack_report(document)


def list_page(session: Session, run_filter: RunFilter, limit: int, offset: int) -> RunPage:
    """Return a page of runs, the newest first."""
    ids_by_column = run_filter.list_ids(session)
    rows = _list_newest_runs(session, run_filter.list_conditions(ids_by_column), limit, offset)
    total = run_filter.count(session, ids_by_column)
    return RunPage(items=[_build_summary(run) for run in rows], total=total, limit=limit, offset=offset)


def list_runs_by_id(session: Session, run_ids: Sequence[UUID]) -> list[RunSummary]:
    """Return summaries of the given runs, newest first; runs that are not stored are left out."""
    return [_build_summary(run) for run in _list_newest_runs(session, [Run.id.in_(run_ids)], len(run_ids))]


def list_newest_quarantined_runs(session: Session) -> list[RunSummary]:
    """Return the newest measured run of each host whose newest measured run is in quarantine."""
    # Runs of bisects, proofs and labs, and reused counts, do not say whether the host counts correctly.
    concerns_host = func.coalesce(Run.quarantine, "").not_in(REASONS_UNRELATED_TO_HOST)
    newest_runs = list_newest_runs_of_hosts(session, true(), Run.outcome == Outcome.MEASURED, concerns_host)
    is_in_quarantine = bulk.is_among(session, Run.number, newest_runs), Run.quarantine.is_not(None)
    return [_build_summary(run) for run in session.scalars(_SELECT_RUNS.where(*is_in_quarantine).order_by(Host.name))]


def list_newest_runs_of_hosts(session: Session, hosts: Condition, *conditions: Condition) -> list[int]:
    """Return the run number of each host's newest run that satisfies the conditions; hosts without one are left out."""
    newest_run = select(Run.number).where(Run.host_id == Host.id, *conditions).order_by(*NEWEST_FIRST).limit(1)
    numbers = session.scalars(select(newest_run.correlate(Host).scalar_subquery()).select_from(Host).where(hosts))
    return [number for number in numbers if number is not None]


def _list_newest_runs(session: Session, conditions: Sequence[Condition], limit: int, offset: int = 0) -> Sequence[Run]:
    """Return the newest runs with their related rows; runs are selected first, so that only these are joined."""
    query = select(Run.number).where(*conditions).order_by(*NEWEST_FIRST).limit(limit).offset(offset)
    numbers = session.scalars(query).all()
    return session.scalars(_SELECT_RUNS.where(Run.number.in_(numbers)).order_by(*NEWEST_FIRST)).all()


def map_runs_for_plan(
    session: Session, subject: str, host: str, cases: Sequence[contract.Case]
) -> dict[int, list[StoredRun]]:
    """Return the runs of each case on a host on which a plan depends, by the case's index.

    Runs in quarantine are left out, so that they are measured again. Runs with reused counts are kept.
    """
    counts_as_measured = or_(Run.quarantine.is_(None), Run.quarantine == REUSED)
    rows = session.execute(
        select_joined_runs(
            Case.key, Revision.commit, Environment.hash, Run.outcome, Run.failure_temporary, Run.quarantine
        ).where(Subject.name == subject, Host.name == host, counts_as_measured)
    )
    runs_by_key: dict[str, list[StoredRun]] = {}
    for key, commit, environment, outcome, temporary, quarantine in rows:
        run = StoredRun(commit, environment, outcome, bool(temporary), reused=quarantine is not None)
        runs_by_key.setdefault(key, []).append(run)
    return {index: runs_by_key.get(shared_rows.make_case_key(case), []) for index, case in enumerate(cases)}


def _build_summary(run: Run) -> RunSummary:
    """Return the summary of a run for lists."""
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
        reused=run.quarantine == REUSED,
        started_at=run.started_at,
        finished_at=run.finished_at,
    )
