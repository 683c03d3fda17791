"""Thins the reports of old runs and old profiles. Points, levels and drifts stay as they are."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, bindparam, func, select, update
from sqlalchemy.orm import Session

from service.rules.retention import thin_report
from service.store import profiles
from service.store.engine.database import Database
from service.store.models import Run, StoredReport
from service.store.stored_reports import unpack

_REPORTS_PER_TRANSACTION = 100
_COMPRESSION = 9
"""zlib level: each report is written once, and nobody waits."""


@dataclass(frozen=True, slots=True)
class RetentionResult:
    """What retention has thinned."""

    runs: int
    profiles: int
    freed: int
    """Bytes by which reports and profiles have shrunk."""


def retain(
    database: Database, before: datetime, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> RetentionResult:
    """Thin all reports and profiles from before a time that are not thinned yet.

    Parameters
    ----------
    progress
        Called with how many reports are thinned, and of how many.
    """
    profile_count, freed = profiles.thin(database, before)
    runs, total = 0, _count(database, before)
    while documents := _next(database, before):
        # Computed outside of the write lock: a report never changes, so nothing read here can be outdated.
        thinned = {number: zlib.compress(_thinned(document), _COMPRESSION) for number, document in documents.items()}
        with database.writing() as session:
            _write(session, thinned)
        runs += len(documents)
        freed += sum(map(len, documents.values())) - sum(map(len, thinned.values()))
        progress(runs, max(runs, total))
    return RetentionResult(runs, profile_count, freed)


def _count(database: Database, before: datetime) -> int:
    query = select(func.count(StoredReport.run_number)).join(Run, StoredReport.run_number == Run.number)
    with database.reading() as session:
        return session.scalar(query.where(*_unthinned(before))) or 0


def _unthinned(before: datetime) -> tuple[ColumnElement[bool], ...]:
    return Run.started_at < before, StoredReport.thinned.is_(False)


def _next(database: Database, before: datetime) -> dict[int, bytes]:
    query = (
        select(StoredReport.run_number, StoredReport.document)
        .join(Run, StoredReport.run_number == Run.number)
        .where(*_unthinned(before))
        .limit(_REPORTS_PER_TRANSACTION)
    )
    with database.reading() as session:
        return dict(session.execute(query).all())


def _thinned(document: bytes) -> bytes:
    return thin_report(unpack(document)).model_dump_json(exclude_defaults=True).encode()


def _write(session: Session, documents: dict[int, bytes]) -> None:
    change = (
        update(StoredReport)
        .where(StoredReport.run_number == bindparam("number"))
        .values(document=bindparam("packed"), thinned=True)
    )
    session.connection().execute(
        change, [{"number": number, "packed": document} for number, document in documents.items()]
    )
