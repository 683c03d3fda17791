"""Takes reports in: many at once, each stored once and never changed.

What takes the time is done by :func:`prepare` before the database is touched: others wait for the one writer only as
long as its rows take.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from runner import contract
from service.levels import level
from service.retention import thin
from service.store import bulk, filing, known
from service.store.filing import Prepared, PreparedPoint
from service.store.models import Run, StoredReport
from service.store.points import pack

Thing = TypeVar("Thing")

_MOST = 500
"""Ids that are looked up in one query."""
_LEVEL = 1
"""How hard zlib tries: more takes four times as long and saves a twentieth."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of reports."""

    created: frozenset[UUID]
    conflicting: tuple[UUID, ...]
    """Ids that other reports have: those stay, for a run never changes."""


def prepare(reports: Iterable[contract.Report]) -> list[Prepared]:
    """Work out what is stored of reports. Pure."""
    cases: _Names[contract.Case] = _Names(known.case_key)
    environments: _Names[contract.Environment] = _Names(lambda held: held.hash)
    return [
        Prepared(report, cases.of(report.case), environments.of(report.environment), _pack(report), _points(report))
        for report in reports
    ]


def store(session: Session, prepared: Sequence[Prepared]) -> Taken:
    """Store the reports that are new, with their points; what is known already stays as it is."""
    first: dict[UUID, Prepared] = {}
    conflicting: list[UUID] = []
    for one in prepared:
        if first.setdefault(one.report.run_id, one).document != one.document and not _same(
            first[one.report.run_id].document, one.report
        ):
            conflicting.append(one.report.run_id)
    for chunk in bulk.chunks(list(first), _MOST):
        there = (
            select(Run.id, StoredReport.document, StoredReport.thinned)
            .join(StoredReport, StoredReport.run_number == Run.number)
            .where(Run.id.in_(chunk))
        )
        for run_id, document, thinned in session.execute(there):
            one = first.pop(run_id)
            sent = thin(one.report) if thinned else one.report
            if document != one.document and not _same(document, sent):
                conflicting.append(run_id)
    filing.add(session, list(first.values()))
    return Taken(frozenset(first), tuple(conflicting))


class _Names(Generic[Thing]):
    """Names things that come many times in a row; telling that it is the same thing is faster than naming it."""

    def __init__(self, name: Callable[[Thing], str]) -> None:
        self._name = name
        self._last: Thing | None = None
        self._named = ""

    def of(self, thing: Thing) -> str:
        """Return the name of a thing."""
        if thing != self._last:
            self._last, self._named = thing, self._name(thing)
        return self._named


def _pack(report: contract.Report) -> bytes:
    return zlib.compress(report.model_dump_json(exclude_defaults=True).encode(), _LEVEL)


def unpack(document: bytes) -> contract.Report:
    """Read a stored report."""
    return contract.Report.model_validate_json(zlib.decompress(document))


def _same(document: bytes, report: contract.Report) -> bool:
    return unpack(document) == report


def _points(report: contract.Report) -> tuple[PreparedPoint, ...]:
    readings: dict[str, list[contract.Reading]] = {}
    for sample in report.samples:
        for name, reading in sample.readings.items():
            if name in readings:
                readings[name].append(reading)
            else:
                readings[name] = [reading]
    points = []
    for name, found in readings.items():
        status, value, samples = level(found)
        points.append(PreparedPoint(name, status, value, len(samples), pack(value, samples)))
    return tuple(points)
