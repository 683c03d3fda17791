"""Retention: what is left of old runs' reports and of old profiles. Points, levels and drifts stay as they are."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from service.rules.retention import thin_report
from service.store import profiles
from service.store.engine.database import Database
from service.store.models import Run, StoredReport
from service.store.stored_reports import unpack

_AT_ONCE = 100
"""Reports that are thinned in one transaction: writers wait no longer than for these."""
_LEVEL = 9
"""How hard zlib tries: this is written once, and nobody waits."""


@dataclass(frozen=True, slots=True)
class Thinned:
    """What retention did."""

    runs: int
    profiles: int
    freed: int
    """Bytes that reports and profiles take less."""


def retain(database: Database, before: datetime) -> Thinned:
    """Thin all reports and profiles of before a moment that were not thinned yet."""
    profile_count, freed = profiles.thin(database, before)
    runs = 0
    while found := _next(database, before):
        # Worked out while nobody waits. A report never changes, so what was read still holds when it is written.
        left = {number: zlib.compress(_thinned(document), _LEVEL) for number, document in found.items()}
        with database.writing() as session:
            _write(session, left)
        runs += len(found)
        freed += sum(map(len, found.values())) - sum(map(len, left.values()))
    return Thinned(runs, profile_count, freed)


def _next(database: Database, before: datetime) -> dict[int, bytes]:
    wanted = (
        select(StoredReport.run_number, StoredReport.document)
        .join(Run, StoredReport.run_number == Run.number)
        .where(Run.started_at < before, StoredReport.thinned.is_(False))
        .limit(_AT_ONCE)
    )
    with database.reading() as session:
        return dict(session.execute(wanted).all())


def _thinned(document: bytes) -> bytes:
    return thin_report(unpack(document)).model_dump_json(exclude_defaults=True).encode()


def _write(session: Session, left: dict[int, bytes]) -> None:
    change = (
        update(StoredReport)
        .where(StoredReport.run_number == bindparam("number"))
        .values(document=bindparam("left"), thinned=True)
    )
    session.connection().execute(change, [{"number": number, "left": document} for number, document in left.items()])
