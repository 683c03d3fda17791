"""Stores and reads nightly runs: their planned cells, and those that hosts have reported.

The results of the cases are stored in their runs.
"""

from __future__ import annotations

import json
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner.contract.nightly import NightlyCell, NightlyDigest, NightlyPart
from service.nightly.queries import nightly_drifts
from service.nightly.queries.recent_points import IS_IN_HISTORY
from service.nightly.rules.digest import CaseRun, make_digest, merge_cells
from service.store import shared_rows
from service.store.models import Case, Host, NightlyRun, Revision, Run, Subject


def store_cells(session: Session, name: str, part: NightlyPart, owner: str | None, now: datetime) -> None:
    """Store planned or completed cells of a nightly run. A new run belongs to the repository ``owner``, if any.

    Also record which series these cells have measured, and which new drifts the nightly run reports.
    """
    row = session.get(NightlyRun, name)
    if row is None:
        row = NightlyRun(name=name, started_at=now, repository=owner, document={})
        session.add(row)
    cells = merge_cells(_read_cells(row), part.cells)
    row.document = NightlyPart(cells=cells).model_dump(mode="json", exclude_defaults=True)
    nightly_drifts.mark_series_as_measured(session, row, part.cells)
    nightly_drifts.mark_drifts_as_reported(
        session, name, nightly_drifts.list_unreported_drifts(session, row, part.cells)
    )


def find_nightly_run(session: Session, name: str) -> NightlyDigest | None:
    """Return the present state of a nightly run; None if there is no run of this name."""
    row = session.get(NightlyRun, name)
    if row is None:
        return None
    cells = _read_cells(row)
    runs_of_cells = [_find_runs(session, cell) for cell in cells]
    return make_digest(name, row.started_at, cells, runs_of_cells, nightly_drifts.list_reported_drifts(session, row))


def find_unreported_drifts(session: Session, name: str) -> list[str]:
    """Return the drifts that are new in a nightly run and not reported yet."""
    row = session.get(NightlyRun, name)
    return [] if row is None else nightly_drifts.list_unreported_drifts(session, row, _read_cells(row))


def list_measured_subjects(session: Session, name: str) -> set[tuple[str, str]]:
    """Return the pairs of a subject and a host that were measured in a nightly run."""
    row = session.get(NightlyRun, name)
    return {(cell.subject, cell.host) for cell in _read_cells(row) if cell.subject} if row is not None else set()


def map_subjects(session: Session, name: str) -> dict[tuple[str, str, str], str]:
    """Return the subjects of the cells of a nightly run, by place; those that have not measured anything have none."""
    row = session.get(NightlyRun, name)
    cells = () if row is None else _read_cells(row)
    return {cell.place: cell.subject for cell in cells if cell.subject}


def find_newest_run_name(session: Session) -> str | None:
    """Return the name of the nightly run that began last; None if there is none."""
    return session.scalar(
        select(NightlyRun.name).order_by(NightlyRun.started_at.desc(), NightlyRun.name.desc()).limit(1)
    )


def _read_cells(row: NightlyRun) -> tuple[NightlyCell, ...]:
    return NightlyPart.model_validate_json(json.dumps(row.document)).cells if row.document else ()


def _find_runs(session: Session, cell: NightlyCell) -> dict[int, CaseRun]:
    """Return the newest run of each measured case of a cell, by the index of the case.

    Later runs of its commit for bisects, proofs and labs are not part of the nightly run.
    """
    index_by_key = {shared_rows.make_case_key(case): index for index, case in enumerate(cell.cases)}
    if not index_by_key:
        return {}
    rows = session.execute(
        select(Case.key, Run.id, Run.outcome, Run.failure_message, Run.quarantine)
        .join(Run.subject)
        .join(Run.revision)
        .join(Run.case)
        .join(Run.host)
        .where(Subject.name == cell.subject, Revision.commit == cell.revision, Host.name == cell.host, IS_IN_HISTORY)
        .order_by(Run.started_at, Run.number)
    )
    # The rows are in chronological order, so the newest run of a case replaces older ones.
    return {
        index_by_key[key]: CaseRun(run_id, outcome, failure or "", quarantine)
        for key, run_id, outcome, failure, quarantine in rows
        if key in index_by_key
    }
