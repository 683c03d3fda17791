"""Nightly runs: what is planned, and what the hosts have reported. The results of the cases are in the runs."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from sqlalchemy import false, func, select
from sqlalchemy.orm import Session

from runner.contract.night import NightCell, NightDigest, NightDrift, NightPart
from service.rules.nightly_digest import CaseRun, make_digest, merge_cells
from service.schemas.history import Cause, Drift
from service.store import shared_rows
from service.store.models import Case, DriftRow, Event, Host, Night, Revision, Run, Series, Subject


def store(session: Session, name: str, part: NightPart, owner: str | None, now: datetime) -> None:
    """Store planned or completed cells of a night. A new night belongs to ``owner``, a repository, or to nobody."""
    row = session.get(Night, name)
    if row is None:
        row = Night(name=name, started_at=now, repository=owner, document={})
        session.add(row)
    cells = merge_cells(_cells(row), part.cells)
    row.document = NightPart(cells=cells).model_dump(mode="json", exclude_defaults=True)


def find(session: Session, name: str) -> NightDigest | None:
    """Return the present state of a night, if there is one of that name."""
    row = session.get(Night, name)
    if row is None:
        return None
    cells = _cells(row)
    return make_digest(name, row.started_at, cells, [_found(session, cell) for cell in cells], _drifts(session, cells))


def subjects(session: Session, name: str) -> set[str]:
    """Return the subjects of the cells that were carried out in a night."""
    row = session.get(Night, name)
    return {cell.subject for cell in _cells(row) if cell.subject} if row is not None else set()


def newest(session: Session) -> str | None:
    """Return the name of the night that began last."""
    return session.scalar(select(Night.name).order_by(Night.started_at.desc(), Night.name.desc()).limit(1))


def _cells(row: Night) -> tuple[NightCell, ...]:
    return NightPart.model_validate_json(json.dumps(row.document)).cells if row.document else ()


def _found(session: Session, cell: NightCell) -> dict[int, CaseRun]:
    """Return the newest run of each case of a cell."""
    keys = {shared_rows.case_key(case): index for index, case in enumerate(cell.cases)}
    if not keys:
        return {}
    rows = session.execute(
        select(Case.key, Run.id, Run.outcome, Run.failure_message, Run.quarantine)
        .join(Run.subject)
        .join(Run.revision)
        .join(Run.case)
        .join(Run.host)
        .where(Subject.name == cell.subject, Revision.commit == cell.revision, Host.name == cell.host)
        .order_by(Run.started_at, Run.number)
    )
    return {
        keys[key]: CaseRun(run_id, outcome, failure or "", quarantine)
        for key, run_id, outcome, failure, quarantine in rows
        if key in keys
    }


def _drifts(session: Session, cells: tuple[NightCell, ...]) -> list[NightDrift]:
    """Return the drifts of the cells' series that begin at the revision of the night, but none below the floor."""
    drifts: dict[str, NightDrift] = {}
    for cell in cells:
        keys = {shared_rows.case_key(case) for case in cell.cases}
        rows = session.execute(
            select(Case.key, DriftRow.document)
            .join(Series, DriftRow.series_id == Series.id)
            .join(Series.subject)
            .join(Series.host)
            .join(Series.case)
            .join(Revision, (Revision.subject_id == Subject.id) & (Revision.position == DriftRow.position))
            .join(Event, Event.id == DriftRow.event_id, isouter=True)
            .where(Subject.name == cell.subject, Host.name == cell.host, Revision.commit == cell.revision)
            .where(func.coalesce(Event.below_floor, false()).is_(false()))
            .order_by(DriftRow.id)
        )
        for key, document in rows:
            if key in keys and document["revision"] == cell.revision:
                drifts[document["id"]] = _told(document)
    return list(drifts.values())


def _told(document: dict[str, Any]) -> NightDrift:
    """Return a drift as the digest of a night tells it: an only candidate that is not confirmed yet says so."""
    drift = Drift.model_validate(document)
    only = drift.cause is Cause.COMMIT and drift.candidates_known and len(drift.candidates) == 1
    told = {name: document[name] for name in NightDrift.model_fields}
    return NightDrift.model_validate_json(json.dumps(told | {"title": drift.blamed if only else ""}))
