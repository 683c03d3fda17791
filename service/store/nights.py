"""Nightly runs: what is planned, and what the hosts have reported. The results of the cases are in the runs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import false, func, or_, select
from sqlalchemy.orm import Session

from runner.contract.night import NightCell, NightDigest, NightDrift, NightPart
from service.rules.nightly_digest import CaseRun, NightTurn, make_digest, merge_cells
from service.schemas.history import Cause, Drift
from service.store import shared_rows
from service.store.engine import bulk
from service.store.models import Case, DriftRow, Event, Host, Night, Revision, Run, Series, Subject

_NIGHTS = 30
"""How many nights before a night, and after it, are looked at for the same place of the matrix."""
_RUNS_PER_QUERY = 500
_Place = tuple[str, str, str]


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
    found = [_found(session, cell) for cell in cells]
    return make_digest(name, row.started_at, cells, found, _drifts(session, row, cells))


def measured(session: Session, name: str) -> set[tuple[str, str]]:
    """Return which subjects were measured on which hosts in a night."""
    row = session.get(Night, name)
    return {(cell.subject, cell.host) for cell in _cells(row) if cell.subject} if row is not None else set()


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


def _drifts(session: Session, row: Night, cells: tuple[NightCell, ...]) -> list[NightDrift]:
    """Return the drifts that are news of a night, but none below the floor."""
    groups = _by_revision(cell for cell in cells if cell.subject and cell.revision)
    near = {group: found for group in groups if (found := _drifts_near(session, row, *group))}
    # Each host asks after each cell, mostly in a night without drifts: other nights are read where there are any.
    concerned = [cell for group in near for cell in groups[group]]
    earlier, later = (_at_places(session, row, concerned, after=after) for after in (False, True))
    drifts: dict[str, NightDrift] = {}
    for group, found in near.items():
        for cell in groups[group]:
            keys = {shared_rows.case_key(case) for case in cell.cases}
            before, after = earlier.get(cell.place), later.get(cell.place)
            turn = NightTurn(row.started_at, after and after.began, group[2], before and before.cell.revision)
            for key, document, measured_at in found:
                if key in keys and turn.shows(document["revision"], measured_at):
                    drifts[document["id"]] = _told(document)
    return list(drifts.values())


def _by_revision(cells: Iterable[NightCell]) -> dict[tuple[str, str, str], list[NightCell]]:
    groups: dict[tuple[str, str, str], list[NightCell]] = {}
    for cell in cells:
        groups.setdefault((str(cell.subject), cell.host, str(cell.revision)), []).append(cell)
    return groups


class _Planned(NamedTuple):
    """A cell in another night."""

    began: datetime
    cell: NightCell


def _at_places(session: Session, row: Night, cells: Iterable[NightCell], *, after: bool) -> dict[_Place, _Planned]:
    """Return the cells of the same places in the nearest nights before a night, or after it."""
    wanted = {cell.place for cell in cells}
    found: dict[_Place, _Planned] = {}
    if not wanted:
        return found
    side, order = (
        (Night.started_at > row.started_at, Night.started_at)
        if after
        else (Night.started_at < row.started_at, Night.started_at.desc())
    )
    for night in session.scalars(select(Night).where(side).order_by(order).limit(_NIGHTS)):
        for cell in _cells(night):
            # A host that did not show up saw nothing.
            if cell.place in wanted and cell.carried_out:
                found[cell.place] = _Planned(night.started_at, cell)
                wanted.discard(cell.place)
        if not wanted:
            break
    return found


def _drifts_near(
    session: Session, row: Night, subject: str, host: str, revision: str
) -> list[tuple[str, dict[str, Any], datetime]]:
    """Return the drifts that begin at a revision, or at an earlier one that was measured since a night began.

    Each with the key of its case, and when the first run at its new level began.
    """
    of_host = Subject.name == subject, Host.name == host
    newest = (
        select(Revision.position)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Subject.name == subject, Revision.commit == revision)
        .scalar_subquery()
    )
    measured = (
        select(Revision.position)
        .join(Run, Run.revision_id == Revision.id)
        .join(Subject, Run.subject_id == Subject.id)
        .join(Host, Run.host_id == Host.id)
        .where(*of_host, Run.started_at >= row.started_at, Revision.position <= newest)
        .distinct()
    )
    rows = session.execute(
        select(Case.key, DriftRow.document)
        .join(Series, DriftRow.series_id == Series.id)
        .join(Series.subject)
        .join(Series.host)
        .join(Series.case)
        .join(Event, Event.id == DriftRow.event_id, isouter=True)
        .where(*of_host, or_(DriftRow.position == newest, DriftRow.position.in_(measured)))
        .where(func.coalesce(Event.below_floor, false()).is_(false()))
        .order_by(DriftRow.id)
    ).all()
    runs = {UUID(document["run_after"]) for _, document in rows}
    began: dict[UUID, datetime] = {}
    for chunk in bulk.chunks(sorted(runs), _RUNS_PER_QUERY):
        times = session.execute(select(Run.id, Run.started_at).where(Run.id.in_(chunk)))
        began.update((run, at) for run, at in times)
    found = ((key, document, began.get(UUID(document["run_after"]))) for key, document in rows)
    return [(key, document, at) for key, document, at in found if at is not None]


def _told(document: dict[str, Any]) -> NightDrift:
    """Return a drift as the digest of a night tells it: what is not confirmed yet says so."""
    drift = Drift.model_validate(document)
    only = drift.cause is Cause.COMMIT and drift.candidates_known and len(drift.candidates) == 1
    title = drift.cause_words if only or drift.cause is Cause.CONFIG else ""
    told = {name: document[name] for name in NightDrift.model_fields}
    return NightDrift.model_validate_json(json.dumps(told | {"title": title}))
