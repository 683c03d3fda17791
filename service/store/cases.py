"""Cases of the workloads that were measured."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.directory import CaseEntry
from service.store.models import Case, Run, Series


def listed(session: Session, workload: str | None = None) -> list[CaseEntry]:
    """Return the cases that were ever reported, by name; those of one workload if asked."""
    wanted = select(Case) if workload is None else select(Case).where(Case.workload == workload)
    rows = session.scalars(wanted.order_by(Case.workload, Case.name, Case.id)).all()
    counts = dict(session.execute(select(Series.case_id, func.count()).group_by(Series.case_id)).all())
    return [_entry(session, row, counts.get(row.id, 0)) for row in rows]


def find(session: Session, key: str) -> CaseEntry | None:
    """Return the case with this key."""
    row = session.scalar(select(Case).where(Case.key == key))
    if row is None:
        return None
    count = session.scalar(select(func.count()).select_from(Series).where(Series.case_id == row.id))
    return _entry(session, row, count or 0)


def _entry(session: Session, row: Case, count: int) -> CaseEntry:
    return CaseEntry(
        key=row.key,
        name=row.name,
        workload=row.workload,
        definition=row.definition,
        parameters=row.parameters,
        series=count,
        last_seen=session.scalar(select(func.max(Run.started_at)).where(Run.case_id == row.id)),
    )
