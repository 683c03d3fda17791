"""Takes reports in: many at once, each stored once and never changed.

What takes the time is done by :func:`prepare` before the database is touched: others wait for the one writer only as
long as its rows take.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner import contract
from runner.contract import Status
from service.rules.retention import thin
from service.rules.series.levels import level as level_of
from service.store import filing, shared_rows
from service.store.engine import bulk
from service.store.engine.database import Database
from service.store.fast_parse import PlainReport
from service.store.filing import Prepared, PreparedPoint
from service.store.models import Run, StoredReport
from service.store.points import written

_COUNTED = Status.COUNTED.value
_MOST = 500
"""Ids that are looked up in one query."""
_POINTS = 5_000
"""Points that are stored in one transaction: they take some 40 ms."""
_LEVEL = 1
"""How hard zlib tries: more takes four times as long and saves a twentieth."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of reports."""

    created: frozenset[UUID]
    conflicting: tuple[UUID, ...]
    """Ids that other reports have: those stay, for a run never changes."""


def prepare(reports: Iterable[contract.Report | PlainReport]) -> list[Prepared]:
    """Work out what is stored of reports. Pure."""
    # Many reports tell of few cases and environments, whose names take long to work out.
    cases: dict[tuple[str, str, str], str] = {}
    knobs: dict[str, str] | None = None
    prepared = []
    for report in reports:
        head = report.head if isinstance(report, PlainReport) else report
        case = head.case.workload, head.case.definition, repr(head.case.parameters)
        if case not in cases:
            cases[case] = shared_rows.case_key(head.case)
        if head.environment.knobs != knobs:
            knobs, environment = head.environment.knobs, head.environment.hash
        prepared.append(
            Prepared(head, cases[case], environment, _pack(report), () if head.aside else tuple(_points(report)))
        )
    return prepared


def take_in(database: Database, reports: Iterable[contract.Report | PlainReport]) -> Taken:
    """Store reports, a part of a large batch at a time, so that nobody waits for all of it."""
    created: set[UUID] = set()
    conflicting: list[UUID] = []
    with database.taking_in():
        for part in parts(prepare(reports)):
            with database.writing() as session:
                taken = store(session, part)
            created |= taken.created
            conflicting += taken.conflicting
    return Taken(frozenset(created), tuple(conflicting))


def parts(prepared: Iterable[Prepared], most: int = _POINTS) -> Iterator[list[Prepared]]:
    """Cut a batch into parts of about so many points: case by case, for the points of a series lie together on disk."""
    part: list[Prepared] = []
    points = 0
    for one in sorted(prepared, key=attrgetter("case")):
        if part and points + len(one.points) > most:
            yield part
            part, points = [], 0
        part.append(one)
        points += len(one.points) + 1
    if part:
        yield part


def store(session: Session, prepared: Sequence[Prepared]) -> Taken:
    """Store the reports that are new, with their points; what is known already stays as it is."""
    first: dict[UUID, Prepared] = {}
    conflicting: list[UUID] = []
    for one in prepared:
        other = first.setdefault(one.report.run_id, one)
        if not _same(one.document, other.document):
            conflicting.append(one.report.run_id)
    for chunk in bulk.chunks(list(first), _MOST):
        there = (
            select(Run.id, StoredReport.document, StoredReport.thinned)
            .join(StoredReport, StoredReport.run_number == Run.number)
            .where(Run.id.in_(chunk))
        )
        for run_id, document, thinned in session.execute(there):
            if not _same(first.pop(run_id).document, document, thinned):
                conflicting.append(run_id)
    filing.add(session, list(first.values()))
    return Taken(frozenset(first), tuple(conflicting))


def _pack(report: contract.Report | PlainReport) -> bytes:
    if isinstance(report, PlainReport):
        document = report.document
    else:
        document = report.model_dump_json(exclude_defaults=True).encode()
    return zlib.compress(document, _LEVEL)


def unpack(document: bytes) -> contract.Report:
    """Read a stored report."""
    return contract.Report.model_validate_json(zlib.decompress(document))


def _same(sent: bytes, stored: bytes, thinned: bool = False) -> bool:
    """Tell whether two documents are the same report, be it in other words."""
    if sent == stored:
        return True
    return (thin(unpack(sent)) if thinned else unpack(sent)) == unpack(stored)


def _points(report: contract.Report | PlainReport) -> Iterator[PreparedPoint]:
    if isinstance(report, PlainReport):
        for name, values in report.values.items():
            level, n, samples = written(values)
            yield PreparedPoint(name, _COUNTED, level, n, samples)
        return
    readings: dict[str, list[contract.Reading]] = {}
    for sample in report.samples:
        for name, reading in sample.readings.items():
            readings.setdefault(name, []).append(reading)
    for name, found in readings.items():
        status, _, values = level_of(found)
        yield PreparedPoint(name, status.value, *written(values))
