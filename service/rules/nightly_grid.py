"""The nightly grid: cases against hosts and their configurations, with the level of each cell and its change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from runner.contract import Status
from service.schemas.history import Number

NIGHT = timedelta(hours=12)
"""On a host without nights a change is told from the newest run that is at least this much older; else from the run
before."""
CURRENT = timedelta(days=7)
"""A configuration that its host was not seen in for longer has no column."""
MOST_COLUMNS = 8
"""Columns of one host."""


@dataclass(frozen=True, slots=True)
class RecentPoint:
    """One of the newest points of a series."""

    series_id: int
    subject: str
    host: str
    case: str
    case_key: str
    workload: str
    environment: str
    run_id: UUID
    revision: str
    position: int
    started_at: datetime
    quarantine: str | None
    status: Status
    value: Number | None


@dataclass(frozen=True, slots=True)
class UnmeasuredRun:
    """A run that measured nothing, and why."""

    subject: str
    host: str
    case: str
    case_key: str
    environment: str
    run_id: UUID
    started_at: datetime
    why: str


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A host in one of its configurations."""

    host: str
    environment: str
    last_seen: datetime


@dataclass(frozen=True, slots=True)
class GridCell:
    """One case in one column.

    Attributes
    ----------
    series_id, run_id
        Where a click leads: the newest run with a level, or the one that has none.
    before, since
        The level that the change is told from, and when that was measured.
    why
        Why there is no level; empty where there is one.
    missed
        Why it was planned for last night and not measured; empty where it was, or was not planned.
    efficiency
        Weak-scaling efficiency, where the case is measured for it.
    """

    series_id: int | None = None
    run_id: UUID | None = None
    value: Number | None = None
    before: Number | None = None
    since: datetime | None = None
    revision: str | None = None
    why: str = ""
    missed: str = ""
    efficiency: Number | None = None

    @property
    def change(self) -> Number | None:
        """The level minus the one before."""
        return None if self.value is None or self.before is None else self.value - self.before

    @property
    def percent(self) -> float | None:
        """The change in percent of the level before; None where that is zero."""
        return None if self.change is None or not self.before else 100 * self.change / abs(self.before)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One case of a subject."""

    subject: str
    case: str
    case_key: str
    cells: tuple[GridCell, ...]


@dataclass(frozen=True, slots=True)
class NightlyGrid:
    """The grid."""

    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]


@dataclass(frozen=True, slots=True)
class LastNight:
    """What the grid has to know of a night.

    Attributes
    ----------
    began
        Its hosts' changes are told from the newest run before this.
    missed
        Why it did not measure a case, by host and case.
    """

    began: datetime
    hosts: frozenset[str]
    missed: Mapping[tuple[str, str], str]


_Place = tuple[str, str, str, str]


def build_grid(
    recent: Sequence[RecentPoint],
    failures: Iterable[UnmeasuredRun],
    efficiency: Sequence[RecentPoint] = (),
    night: LastNight | None = None,
) -> NightlyGrid:
    """Put the newest points of a metric into the grid.

    Parameters
    ----------
    failures
        Runs without a level, the newest first.
    efficiency
        The newest points of the weak-scaling efficiency.
    night
        The last one, if there was any.
    """
    failed: dict[_Place, UnmeasuredRun] = {}
    for run in failures:
        failed.setdefault((run.subject, run.case_key, run.host, run.environment), run)
    cells = _grouped(recent)
    scaling = {place: _newest(points).value for place, points in _grouped(efficiency).items()}
    seen: list[RecentPoint | UnmeasuredRun] = [*failed.values(), *recent]
    names = {(run.subject, run.case_key): run.case for run in seen}
    columns = _columns(seen)
    rows = []
    for (subject, case_key), case in sorted(names.items(), key=lambda entry: (entry[0][0], entry[1], entry[0][1])):
        places = [(subject, case_key, column.host, column.environment) for column in columns]
        told = [
            _cell(cells.get(place, ()), failed.get(place), scaling.get(place), _began(night, place[2]))
            for place in places
        ]
        rows.append(GridRow(subject, case, case_key, tuple(_marked(told, columns, case, night))))
    return NightlyGrid(columns, tuple(rows))


def _columns(seen: Iterable[RecentPoint | UnmeasuredRun]) -> tuple[GridColumn, ...]:
    newest: dict[tuple[str, str], datetime] = {}
    for run in seen:
        key = run.host, run.environment
        newest[key] = max(run.started_at, newest.get(key, run.started_at))
    columns: list[GridColumn] = []
    for host in sorted({host for host, _ in newest}):
        own = [GridColumn(host, environment, at) for (name, environment), at in newest.items() if name == host]
        own.sort(key=lambda column: column.last_seen, reverse=True)
        columns += [column for column in own[:MOST_COLUMNS] if own[0].last_seen - column.last_seen <= CURRENT]
    return tuple(columns)


def _grouped(points: Iterable[RecentPoint]) -> dict[_Place, list[RecentPoint]]:
    groups: dict[_Place, list[RecentPoint]] = {}
    for point in points:
        groups.setdefault((point.subject, point.case_key, point.host, point.environment), []).append(point)
    return groups


def _began(night: LastNight | None, host: str) -> datetime | None:
    return night.began if night is not None and host in night.hosts else None


def _marked(cells: list[GridCell], columns: Sequence[GridColumn], case: str, night: LastNight | None) -> list[GridCell]:
    """Say why a case was missed, in the newest configuration of its host."""
    hosts = [column.host for column in columns]
    missed = {} if night is None else {host: why for (host, name), why in night.missed.items() if name == case}
    for host, why in missed.items():
        if host in hosts:
            cells[hosts.index(host)] = replace(cells[hosts.index(host)], missed=why)
    return cells


def _newest(points: Sequence[RecentPoint]) -> RecentPoint:
    return max(points, key=lambda point: (point.position, point.started_at))


def _cell(
    points: Sequence[RecentPoint], failed: UnmeasuredRun | None, efficiency: Number | None, began: datetime | None
) -> GridCell:
    levels = [point for point in points if point.value is not None and point.quarantine is None]
    last = max((point.started_at for point in points), default=None)
    if failed is not None and (last is None or failed.started_at > last):
        return GridCell(run_id=failed.run_id, why=failed.why)
    if not levels:
        return _without_level(points)
    latest = _newest(levels)
    older = [point for point in levels if point is not latest]
    until = latest.started_at - NIGHT if began is None or latest.started_at < began else began
    nights = [point for point in older if point.started_at <= until]
    before = _newest(nights or older) if older else None
    return GridCell(
        series_id=latest.series_id,
        run_id=latest.run_id,
        value=latest.value,
        before=before.value if before else None,
        since=before.started_at if before else None,
        revision=latest.revision,
        efficiency=efficiency,
    )


def _without_level(points: Sequence[RecentPoint]) -> GridCell:
    if not points:
        return GridCell(why="not measured here")
    newest = _newest(points)
    why = f"in quarantine: {newest.quarantine}" if newest.quarantine else newest.status.value.replace("_", " ")
    return GridCell(series_id=newest.series_id, run_id=newest.run_id, why=why)
