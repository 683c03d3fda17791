"""Files reports that are new: their runs, their points, and what the series know of their newest level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

from sqlalchemy import Table, Text, select, type_coerce
from sqlalchemy.orm import Session

from runner import contract
from service.rules.same_bytes import material
from service.store import revisions, shared_rows
from service.store.engine import bulk
from service.store.models import Point, Revision, Run, RunCount, Series, StoredReport

_MOST = 500
"""Cases whose series are looked up in one query."""
_RUN = (
    *("number", "id", "subject_id", "revision_id", "case_id", "host_id", "environment_id", "outcome"),
    *("failure_stage", "failure_message", "quarantine", "session", "started_at", "finished_at"),
    *("own_bytes", "system_bytes", "doubt_least", "doubt_most"),
)
_KIND = ("subject_id", "host_id", "case_id", "outcome", "quarantined")
_POINT = ("series_id", "run_number", "status", "value", "n", "samples")
_METRIC = attrgetter("metric")
_NEWEST = ("version", "n_points", "latest", "latest_revision_id", "latest_at")


class PreparedPoint(NamedTuple):
    """One metric of a report, as its columns hold it: written before the one writer is waited for."""

    metric: str
    status: str
    value: str | None
    n: int
    samples: str | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A report, ready to be stored."""

    report: contract.Report
    case: str
    """Key of its case."""
    environment: str
    """Hash of its environment."""
    document: bytes
    points: tuple[PreparedPoint, ...]


class _Place(NamedTuple):
    """What the series of a run are series of."""

    subject_id: int
    host_id: int
    case_id: int


class _Entry(NamedTuple):
    """A report with the rows that it refers to."""

    number: int
    place: _Place
    revision_id: int
    position: int
    environment_id: int
    prepared: Prepared


@dataclass(slots=True)
class _Series:
    """A series as it is after the points that were filed in it so far."""

    id: int
    version: int
    n_points: int
    latest: str | None
    latest_revision_id: int | None
    latest_at: datetime | None
    position: int
    points: list[tuple[object, ...]] = field(default_factory=list)

    def take(self, number: int, point: PreparedPoint) -> None:
        """Take the point of a run."""
        self.points.append((self.id, number, *point[1:]))

    def note(self, entry: _Entry, value: str) -> None:
        """Note a level where it is the newest."""
        at = (entry.position, entry.prepared.report.started_at)
        if self.latest_at is None or at >= (self.position, self.latest_at):
            self.latest, self.latest_revision_id = value, entry.revision_id
            self.position, self.latest_at = at

    @property
    def row(self) -> tuple[object, ...]:
        """Its id and what has changed of it."""
        more = self.n_points + len(self.points)
        return (self.id, self.version + 1, more, self.latest, self.latest_revision_id, self.latest_at)


def add(session: Session, new: Sequence[Prepared]) -> None:
    """Store reports, none of which is stored yet."""
    if not new:
        return
    entries = _entries(session, new)
    bulk.insert(session, _table(Run), _RUN, [_run(entry) for entry in entries])
    documents = [(entry.number, entry.prepared.document, False) for entry in entries]
    bulk.insert(session, _table(StoredReport), ("run_number", "document", "thinned"), documents)
    _count(session, entries)
    series = _series(session, entries)
    for entry in entries:
        here, judged = series[entry.place], not entry.prepared.report.quarantine
        for point in entry.prepared.points:
            row = here[point.metric]
            row.take(entry.number, point)
            if judged and point.value is not None:
                row.note(entry, point.value)
    # In the order of the table, so that each of its pages is written to once.
    changed = sorted((row for here in series.values() for row in here.values() if row.points), key=attrgetter("id"))
    points = chain.from_iterable(row.points for row in changed)
    bulk.insert(session, _table(Point), _POINT, points, written=_POINT)
    bulk.update(session, _table(Series), _NEWEST, [row.row for row in changed], written=("latest",))


def _entries(session: Session, new: Sequence[Prepared]) -> list[_Entry]:
    reports = [one.report for one in new]
    subjects = shared_rows.subjects(session, dict.fromkeys(report.subject for report in reports))
    hosts = shared_rows.hosts(session, dict.fromkeys(report.host.name for report in reports))
    cases = shared_rows.cases(session, {one.case: one.report.case for one in new})
    environments = shared_rows.environments(session, {one.environment: one.report.environment for one in new})
    commits = {
        name: revisions.ensure(session, number, (report.revision for report in reports if report.subject == name))
        for name, number in subjects.items()
    }
    return [
        _Entry(
            number,
            _Place(subjects[report.subject], hosts[report.host.name], cases[one.case]),
            *commits[report.subject][report.revision.commit],
            environments[one.environment],
            one,
        )
        for number, one, report in zip(bulk.new_numbers(session, len(new)), new, reports, strict=True)
    ]


def _run(entry: _Entry) -> tuple[object, ...]:
    report = entry.prepared.report
    failure = (report.failure.stage, report.failure.message) if report.failure else (None, None)
    subject_id, host_id, case_id = entry.place
    return (
        *(entry.number, report.run_id, subject_id, entry.revision_id, case_id, host_id, entry.environment_id),
        *(report.outcome, *failure, report.quarantine or None, report.session, report.started_at, report.finished_at),
        *(one or None for one in material(report)),
    )


def _count(session: Session, entries: Iterable[_Entry]) -> None:
    """Count the runs of each kind."""
    kinds = Counter(
        (*entry.place, entry.prepared.report.outcome, bool(entry.prepared.report.quarantine)) for entry in entries
    )
    rows = [dict(zip(_KIND, kind, strict=True)) | {"runs": runs} for kind, runs in kinds.items()]
    bulk.insert_or_add(session, _table(RunCount), rows, "runs", _KIND)


_Here = dict[str, _Series]
"""The series of one place, by metric."""


def _series(session: Session, entries: Iterable[_Entry]) -> dict[_Place, _Here]:
    """Return the series that points of these reports belong to; new ones in the order of the reports."""
    wanted: dict[_Place, dict[str, None]] = {}
    for entry in entries:
        wanted.setdefault(entry.place, {}).update(dict.fromkeys(map(_METRIC, entry.prepared.points)))
    found = _find_series(session, wanted)
    new = [
        {**place._asdict(), "metric": metric, "version": 0, "judged_version": 0, "n_points": 0}
        for place, metrics in wanted.items()
        for metric in metrics
        if metric not in found[place]
    ]
    if not new:
        return found
    bulk.insert_unless_there(session, _table(Series), new)
    return _find_series(session, wanted)


def _find_series(session: Session, places: Iterable[_Place]) -> dict[_Place, _Here]:
    found: dict[_Place, _Here] = {place: {} for place in places}
    cases: dict[tuple[int, int], dict[int, _Here]] = {}
    for place, here in found.items():
        cases.setdefault(place[:2], {})[place.case_id] = here
    for (subject_id, host_id), by_case in cases.items():
        for chunk in bulk.chunks(by_case, _MOST):
            rows = session.execute(
                select(
                    *(Series.case_id, Series.metric, Series.id, Series.version, Series.n_points),
                    *(type_coerce(Series.latest, Text), Series.latest_revision_id, Series.latest_at),
                    Revision.position,
                )
                .outerjoin(Revision, Series.latest_revision_id == Revision.id)
                .where(Series.subject_id == subject_id, Series.host_id == host_id, Series.case_id.in_(chunk))
            )
            for row in rows:
                by_case[row.case_id][row.metric] = _Series(*row[2:])
    return found


def _table(model: type[Run | RunCount | StoredReport | Series | Point]) -> Table:
    table = model.__table__
    assert isinstance(table, Table)
    return table
