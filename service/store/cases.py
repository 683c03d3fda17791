"""The cases of workloads for which runs were reported."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.schemas.directory import CaseEntry
from service.store.models import Case, Series


def list_cases(session: Session, workload: str | None = None) -> list[CaseEntry]:
    """Return all cases, or those of one workload, by name."""
    query = select(Case) if workload is None else select(Case).where(Case.workload == workload)
    rows = session.scalars(query.order_by(Case.workload, Case.name, Case.id)).all()
    return _build_entries(session, rows)


def list_workloads(session: Session) -> list[str]:
    """Return the names of all workloads."""
    return list(session.scalars(select(Case.workload).distinct().order_by(Case.workload)))


def find_case(session: Session, key: str) -> CaseEntry | None:
    """Return the case with this key; None if there is none."""
    row = session.scalar(select(Case).where(Case.key == key))
    return None if row is None else _build_entries(session, [row])[0]


def _build_entries(session: Session, rows: Sequence[Case]) -> list[CaseEntry]:
    """Return cases as the API describes them, with their number of series and when they were last measured."""
    counts_and_times = session.execute(
        select(Series.case_id, func.count(), func.max(Series.latest_at)).group_by(Series.case_id)
    ).all()
    n_series_by_case = {case_id: count for case_id, count, _ in counts_and_times}
    last_measured_by_case = {case_id: measured_at for case_id, _, measured_at in counts_and_times}
    return [
        CaseEntry(
            key=row.key,
            name=row.name,
            workload=row.workload,
            definition=row.definition,
            parameters=row.parameters,
            series=n_series_by_case.get(row.id, 0),
            last_seen=last_measured_by_case.get(row.id),
        )
        for row in rows
    ]
