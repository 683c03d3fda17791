"""Files reports that are new: their runs, their points, and what the series know of their newest level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from runner import contract
from runner.contract import Status
from service.store import bulk, known, revisions
from service.store.models import Point, Revision, Run, RunCount, Series, StoredReport
from service.views import Number

_MOST = 500
"""Cases whose series are looked up in one query."""
_RUN = (
    *("number", "id", "subject_id", "revision_id", "case_id", "host_id", "environment_id", "outcome"),
    *("failure_stage", "failure_message", "quarantine", "session", "started_at", "finished_at"),
)
_KIND = ("subject_id", "host_id", "case_id", "outcome", "quarantined")
_POINT = ("series_id", "run_number", "status", "value", "n", "samples")
_NEWEST = ("version", "n_points", "latest", "latest_revision_id", "latest_at")


class PreparedPoint(NamedTuple):
    """One metric of a report."""

    metric: str
    status: Status
    value: Number | None
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
    latest: Number | None
    latest_revision_id: int | None
    latest_at: datetime | None
    position: int

    def take(self, entry: _Entry, point: PreparedPoint) -> None:
        """Count a point, and note its level where it is the newest."""
        report = entry.prepared.report
        self.n_points += 1
        if point.value is None or report.quarantine:
            return
        at = (entry.position, report.started_at)
        if self.latest_at is None or at >= (self.position, self.latest_at):
            self.latest, self.latest_revision_id = point.value, entry.revision_id
            self.position, self.latest_at = at


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
    points = []
    for entry in entries:
        for point in entry.prepared.points:
            row = series[entry.place, point.metric]
            row.take(entry, point)
            points.append((row.id, entry.number, *point[1:]))
    points.sort(key=itemgetter(0, 1))  # the order of the table: each of its pages is written to once
    bulk.insert(session, _table(Point), _POINT, points)
    bulk.update(
        session,
        _table(Series),
        _NEWEST,
        [
            (row.id, row.version + 1, row.n_points, row.latest, row.latest_revision_id, row.latest_at)
            for row in series.values()
        ],
    )


def _entries(session: Session, new: Sequence[Prepared]) -> list[_Entry]:
    reports = [one.report for one in new]
    subjects = known.subjects(session, dict.fromkeys(report.subject for report in reports))
    hosts = known.hosts(session, dict.fromkeys(report.host.name for report in reports))
    cases = known.cases(session, {one.case: one.report.case for one in new})
    environments = known.environments(session, {one.environment: one.report.environment for one in new})
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
    )


def _count(session: Session, entries: Iterable[_Entry]) -> None:
    """Count the runs of each kind."""
    kinds = Counter(
        (*entry.place, entry.prepared.report.outcome, bool(entry.prepared.report.quarantine)) for entry in entries
    )
    rows = [dict(zip(_KIND, kind, strict=True)) | {"runs": runs} for kind, runs in kinds.items()]
    bulk.insert_or_add(session, _table(RunCount), rows, "runs", _KIND)


def _series(session: Session, entries: Iterable[_Entry]) -> dict[tuple[_Place, str], _Series]:
    """Return the series that points of these reports belong to; new ones in the order of the reports."""
    wanted = dict.fromkeys((entry.place, point.metric) for entry in entries for point in entry.prepared.points)
    found = _find_series(session, wanted)
    new = [{**place._asdict(), "metric": metric} for place, metric in wanted if (place, metric) not in found]
    if new:
        rows = [row | {"version": 0, "judged_version": 0, "n_points": 0} for row in new]
        bulk.insert_unless_there(session, _table(Series), rows)
        found = _find_series(session, wanted)
    return found


def _find_series(session: Session, wanted: Mapping[tuple[_Place, str], None]) -> dict[tuple[_Place, str], _Series]:
    cases: dict[tuple[int, int], dict[int, None]] = {}
    for place, _ in wanted:
        cases.setdefault(place[:2], {})[place.case_id] = None
    found = {}
    for (subject_id, host_id), case_ids in cases.items():
        for chunk in bulk.chunks(case_ids, _MOST):
            rows = session.execute(
                select(
                    *(Series.case_id, Series.metric, Series.id, Series.version, Series.n_points, Series.latest),
                    *(Series.latest_revision_id, Series.latest_at, Revision.position),
                )
                .outerjoin(Revision, Series.latest_revision_id == Revision.id)
                .where(Series.subject_id == subject_id, Series.host_id == host_id, Series.case_id.in_(chunk))
            )
            for row in rows:
                key = _Place(subject_id, host_id, row.case_id), row.metric
                if key in wanted:
                    found[key] = _Series(*row[2:])
    return found


def _table(model: type[Run | RunCount | StoredReport | Series | Point]) -> Table:
    table = model.__table__
    assert isinstance(table, Table)
    return table
