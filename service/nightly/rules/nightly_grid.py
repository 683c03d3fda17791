"""Builds the nightly grid: cases by hosts and configurations, with the level of each cell and its change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

from runner.contract import Status
from runner.contract.quarantine import REUSED
from service.rules.relative_change import compute_percent_change
from service.schemas.history import Number

MIN_COMPARED_AGE = timedelta(hours=12)
"""On a host without nightly runs, a level is compared with the newest level that is at least this much older; if there
is none, with the previous level."""
MAX_COLUMN_AGE = timedelta(days=7)
"""A configuration has no column if its host has not measured in it for longer than this before its newest run."""
MAX_COLUMNS = 8
"""The largest number of columns of one host."""
_KINDS_OF_CASE_SETTINGS = frozenset(
    {"allocator", "build", "compiler", "library", "parameter", "process", "program", "tool", "variable"}
)
"""Prefixes of settings that belong to a case, from its workload file or the configuration of a nightly run."""


class RecentPoint(NamedTuple):
    """A recent point of a series. A tuple, because a grid has thousands, and a dataclass takes five times as long."""

    series_id: int
    subject: str
    host: str
    case: str
    case_key: str
    environment: str
    run_id: UUID
    revision: str
    position: int
    started_at: datetime
    quarantine: str | None
    status: Status
    value: Number | None


class SeenCase(NamedTuple):
    """A case on a host by one definition of its workload, with the time of the newest run that has the metric."""

    series_id: int
    subject: str
    host: str
    case: str
    case_key: str
    started_at: datetime


@dataclass(frozen=True, slots=True)
class UnmeasuredRun:
    """A run without measurements, and the reason."""

    subject: str
    host: str
    case: str
    case_key: str
    environment: str
    run_id: UUID
    started_at: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A column of the grid: a host in one configuration.

    Attributes
    ----------
    environment
        The newest environment of the column.
    others
        The other environments of the column: those of other cases, in which the machine's own settings were the same.
    """

    host: str
    environment: str
    last_seen: datetime
    others: tuple[str, ...] = ()

    @property
    def environments(self) -> tuple[str, ...]:
        """All environments of the column, the newest first."""
        return self.environment, *self.others


@dataclass(frozen=True, slots=True)
class GridCell:
    """One case in one column.

    Attributes
    ----------
    series_id, run_id
        The series and the run to which the cell links: those of the newest level, or of a run without a level.
    environment
        The environment of the column in which the case was run; None if it was not run.
    before, since
        The level with which the present level is compared, and the time at which it was measured.
    flagged
        Whether the detector found a certain drift between the two levels. Any other difference may be noise.
    provisional
        Whether there are drifts between the two levels, but none is certain before one more run.
    other_commit
        Whether the level belongs to another commit than the row, so that it cannot be compared with the others.
    reason
        Why there is no level; empty if there is one.
    missed
        Why the case was not measured although it was planned for the last nightly run; otherwise empty.
    efficiency
        The weak-scaling efficiency at the commit of the level; None if it is not measured.
    """

    series_id: int | None = None
    run_id: UUID | None = None
    environment: str | None = None
    value: Number | None = None
    before: Number | None = None
    since: datetime | None = None
    revision: str | None = None
    flagged: bool = False
    provisional: bool = False
    other_commit: bool = False
    reason: str = ""
    missed: str = ""
    efficiency: Number | None = None

    @property
    def is_run(self) -> bool:
        """Whether the case was run, or planned for a nightly run."""
        return self.series_id is not None or self.run_id is not None or bool(self.missed)

    @property
    def change(self) -> Number | None:
        """The level minus the previous one; None if either is unknown."""
        return None if self.value is None or self.before is None else self.value - self.before

    @property
    def percent(self) -> float | None:
        """The change in percent of the previous level; None if either is unknown, or the previous level is zero."""
        return compute_percent_change(self.change, self.before)


@dataclass(frozen=True, slots=True)
class GridCase:
    """One case of a subject, by one definition of its workload.

    Attributes
    ----------
    last_seen
        The time of its newest run.
    superseded
        Whether every host that ran the case has later run its workload by another definition.
    """

    subject: str
    case: str
    case_key: str
    last_seen: datetime
    superseded: bool = False


@dataclass(frozen=True, slots=True)
class GridRow(GridCase):
    """The levels of one case.

    Attributes
    ----------
    revision
        The commit of the levels, except in cells that name another commit.
    """

    revision: str | None = None
    cells: tuple[GridCell, ...] = ()


@dataclass(frozen=True, slots=True)
class NightlyGrid:
    """The grid: its columns, and a row for each case."""

    columns: tuple[GridColumn, ...]
    rows: tuple[GridRow, ...]


def list_cases(runs: Iterable[SeenCase | RecentPoint | UnmeasuredRun]) -> list[GridCase]:
    """Return the cases that were run, in the grid's order; of several definitions of a case, the newest is first."""
    last_seen: dict[tuple[str, str, str], datetime] = {}
    newest_key: dict[tuple[str, str, str], tuple[datetime, str]] = {}
    for run in runs:
        row = run.subject, run.case, run.case_key
        last_seen[row] = max(run.started_at, last_seen.get(row, run.started_at))
        case_on_host = run.subject, run.case, run.host
        key_at_time = run.started_at, run.case_key
        newest_key[case_on_host] = max(key_at_time, newest_key.get(case_on_host, key_at_time))
    current_rows = {(subject, case, key) for (subject, case, _), (_, key) in newest_key.items()}
    cases = [
        GridCase(subject, case, key, last_seen_at, superseded=(subject, case, key) not in current_rows)
        for (subject, case, key), last_seen_at in last_seen.items()
    ]
    return sorted(cases, key=lambda case: (case.subject, case.case, -case.last_seen.timestamp()))


def split_grid_by_subject(grid: NightlyGrid) -> list[NightlyGrid]:
    """Return a grid for each subject, in the order of the rows.

    The grid of a subject has only the columns in which a case of the subject was run: others would be empty.
    """
    rows_by_subject: dict[str, list[GridRow]] = {}
    for row in grid.rows:
        rows_by_subject.setdefault(row.subject, []).append(row)
    grids = []
    for rows in rows_by_subject.values():
        indices = [index for index in range(len(grid.columns)) if any(row.cells[index].is_run for row in rows)]
        columns = [_restrict_column(grid.columns[index], [row.cells[index] for row in rows]) for index in indices]
        restricted_rows = [replace(row, cells=tuple(row.cells[index] for index in indices)) for row in rows]
        grids.append(NightlyGrid(tuple(columns), tuple(restricted_rows)))
    return grids


def _restrict_column(column: GridColumn, cells: Iterable[GridCell]) -> GridColumn:
    """Return a column with only the environments of these cells; with all environments if no cell was run."""
    used_environments = {cell.environment for cell in cells}
    environments = [environment for environment in column.environments if environment in used_environments]
    newest_environment, *older_environments = environments or column.environments
    return replace(column, environment=newest_environment, others=tuple(older_environments))


@dataclass(frozen=True, slots=True)
class LastNightlyRun:
    """The facts about a nightly run that the grid depends on.

    Attributes
    ----------
    started_at
        When the nightly run began: levels of its hosts are compared with the newest level before this time.
    hosts
        The hosts that took part.
    missed
        By subject, host and case: why the case was not measured.
    """

    started_at: datetime
    hosts: frozenset[str]
    missed: Mapping[tuple[str, str, str], str]


def select_machine_settings(settings: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """Return the settings of the machine itself, which all cases on it share, from the settings of an environment."""
    return frozenset(
        (name, value) for name, value in settings.items() if name.partition(".")[0] not in _KINDS_OF_CASE_SETTINGS
    )


_CellKey = tuple[str, str, str, str]
"""Subject, case key, host and environment."""


def build_grid(
    recent_points: Sequence[RecentPoint],
    failures: Iterable[UnmeasuredRun],
    efficiency_points: Sequence[RecentPoint] = (),
    nightly_run: LastNightlyRun | None = None,
    *,
    level_starts: Mapping[UUID, bool] = MappingProxyType({}),
    one_commit: bool = False,
    machine_of_environment: Mapping[str, Hashable] = MappingProxyType({}),
) -> NightlyGrid:
    """Arrange the recent points of a metric in a grid.

    Parameters
    ----------
    failures
        Runs without a level, the newest first.
    efficiency_points
        The recent points of the weak-scaling efficiency.
    nightly_run
        The last nightly run, if there was one.
    level_starts
        By run that begins a new level, according to the detector: whether the change of level is certain.
    one_commit
        Whether each row shows the commit that most of its columns have (of several, the newest), instead of the newest
        commit of each column.
    machine_of_environment
        By environment: a key of the machine's own settings. Environments with the same key share a column if they have
        no case in common, because in a nightly run each configuration of a workload has its own environment.
    """
    newest_failures: dict[_CellKey, UnmeasuredRun] = {}
    for run in failures:
        newest_failures.setdefault((run.subject, run.case_key, run.host, run.environment), run)
    cells = _group_points(recent_points)
    efficiency_points_of_cell = _group_points(efficiency_points)
    points_and_failures: list[RecentPoint | UnmeasuredRun] = [*newest_failures.values(), *recent_points]
    columns = _build_columns(points_and_failures, machine_of_environment)
    rows = []
    for case in list_cases(points_and_failures):
        keys = [_find_cell_key(column, case, cells, newest_failures) for column in columns]
        points_of_columns: list[Sequence[RecentPoint]] = [cells.get(key, ()) for key in keys]
        # Before points are cut: a failure that a later commit has overcome is not a failure of the shared commit.
        present_failures = [
            _select_present_failure(newest_failures.get(key), points)
            for key, points in zip(keys, points_of_columns, strict=True)
        ]
        shared_commit = _find_shared_commit(points_of_columns) if one_commit else None
        points_of_columns = [_cut_points_at_commit(points, shared_commit) for points in points_of_columns]
        row_cells = [
            _build_cell(
                points,
                failure,
                efficiency_points_of_cell.get(key, ()),
                _find_start_on_host(nightly_run, column.host),
                level_starts,
            )
            for column, key, points, failure in zip(columns, keys, points_of_columns, present_failures, strict=True)
        ]
        revision, row_cells = _mark_other_commits(row_cells, points_of_columns)
        # A nightly run plans a case by its name, so a missed case is that with the newest definition.
        if nightly_run is not None and not case.superseded:
            row_cells = _mark_missed_cases(row_cells, columns, case, nightly_run)
        rows.append(
            GridRow(
                subject=case.subject,
                case=case.case,
                case_key=case.case_key,
                last_seen=case.last_seen,
                superseded=case.superseded,
                revision=revision,
                cells=tuple(row_cells),
            )
        )
    return NightlyGrid(columns, tuple(rows))


def _find_shared_commit(columns: Iterable[Sequence[RecentPoint]]) -> str | None:
    """Return the commit of which most columns have a level; if there are several such commits, the newest.

    None if no column has a level.
    """
    position_of: dict[str, int] = {}
    n_columns: Counter[str] = Counter()
    for points in columns:
        points_with_level = _select_levels(points)
        position_of |= {point.revision: point.position for point in points_with_level}
        n_columns.update({point.revision for point in points_with_level})
    return max(n_columns, key=lambda revision: (n_columns[revision], position_of[revision]), default=None)


def _cut_points_at_commit(points: Sequence[RecentPoint], commit: str | None) -> Sequence[RecentPoint]:
    """Return the points up to a commit; if none has this commit, return all points."""
    position = next((point.position for point in _select_levels(points) if point.revision == commit), None)
    return points if position is None else [point for point in points if point.position <= position]


def _mark_other_commits(
    cells: Iterable[GridCell], columns: Iterable[Sequence[RecentPoint]]
) -> tuple[str | None, list[GridCell]]:
    """Return the newest commit of a row's cells, and the cells, with those of other commits marked."""
    row = list(cells)
    position_of = {point.revision: point.position for points in columns for point in points}
    commits = {cell.revision for cell in row if cell.revision is not None}
    newest_revision = max(commits, key=lambda revision: position_of[revision], default=None)
    return newest_revision, [replace(cell, other_commit=cell.revision not in {None, newest_revision}) for cell in row]


def _build_columns(
    runs: Iterable[RecentPoint | UnmeasuredRun], machine_of_environment: Mapping[str, Hashable]
) -> tuple[GridColumn, ...]:
    """Return the columns: the environments in which each host has recently measured, the newest of a host first."""
    # By host and environment: the start of the newest run, and the cases that were run.
    last_seen: dict[tuple[str, str], datetime] = {}
    cases_of_environment: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for run in runs:
        key = run.host, run.environment
        last_seen[key] = max(run.started_at, last_seen.get(key, run.started_at))
        cases_of_environment.setdefault(key, set()).add((run.subject, run.case_key))
    columns: list[GridColumn] = []
    for host in sorted({host for host, _ in last_seen}):
        columns_of_host = [
            GridColumn(host, environment, last_run_at)
            for (name, environment), last_run_at in last_seen.items()
            if name == host
        ]
        columns_of_host.sort(key=lambda column: column.last_seen, reverse=True)
        host_last_seen = columns_of_host[0].last_seen
        current_columns = [column for column in columns_of_host if host_last_seen - column.last_seen <= MAX_COLUMN_AGE]
        columns += _merge_columns(current_columns, cases_of_environment, machine_of_environment)[:MAX_COLUMNS]
    return tuple(columns)


def _merge_columns(
    columns: Iterable[GridColumn],
    cases_of_environment: Mapping[tuple[str, str], set[tuple[str, str]]],
    machine_of_environment: Mapping[str, Hashable],
) -> list[GridColumn]:
    """Merge the columns of one host that have the same settings of the machine, but no case in common.

    Parameters
    ----------
    columns
        The columns, the newest first.
    cases_of_environment
        By host and environment: the cases that were run, as pairs of subject and key.
    """
    merged_columns: list[GridColumn] = []
    cases_of_merged: list[set[tuple[str, str]]] = []
    for column in columns:
        machine = machine_of_environment.get(column.environment)
        cases_of_column = cases_of_environment[column.host, column.environment]
        for index, merged_column in enumerate(merged_columns):
            is_same_machine = machine is not None and machine == machine_of_environment.get(merged_column.environment)
            if is_same_machine and not cases_of_merged[index] & cases_of_column:
                merged_columns[index] = replace(merged_column, others=(*merged_column.others, column.environment))
                cases_of_merged[index] |= cases_of_column
                break
        else:  # There is no column with which it can be merged.
            merged_columns.append(column)
            cases_of_merged.append(set(cases_of_column))
    return merged_columns


def _find_cell_key(
    column: GridColumn, case: GridCase, cells: Mapping[_CellKey, object], failed_runs: Mapping[_CellKey, object]
) -> _CellKey:
    """Return the key of a case in the environment of a column in which it was run, or else in the first one."""
    keys = [(case.subject, case.case_key, column.host, environment) for environment in column.environments]
    return next((key for key in keys if key in cells or key in failed_runs), keys[0])


def _group_points(points: Iterable[RecentPoint]) -> dict[_CellKey, list[RecentPoint]]:
    """Group points by case, host and environment."""
    groups: dict[_CellKey, list[RecentPoint]] = {}
    for point in points:
        groups.setdefault((point.subject, point.case_key, point.host, point.environment), []).append(point)
    return groups


def _find_start_on_host(nightly_run: LastNightlyRun | None, host: str) -> datetime | None:
    """Return when the nightly run began; None if the host does not take part in it."""
    return nightly_run.started_at if nightly_run is not None and host in nightly_run.hosts else None


def _mark_missed_cases(
    cells: Sequence[GridCell], columns: Sequence[GridColumn], case: GridCase, nightly_run: LastNightlyRun
) -> list[GridCell]:
    """Return the cells of a case; if a host missed the case, the cell of its newest configuration gets the reason."""
    marked_cells = list(cells)
    hosts = [column.host for column in columns]
    for (subject, host, missed_case), reason in nightly_run.missed.items():
        if (subject, missed_case) == (case.subject, case.case) and host in hosts:
            index = hosts.index(host)  # The first column of a host is the newest.
            marked_cells[index] = replace(marked_cells[index], missed=reason)
    return marked_cells


def _find_newest_point(points: Sequence[RecentPoint]) -> RecentPoint:
    return max(points, key=_get_history_order)


def _get_history_order(point: RecentPoint) -> tuple[int, datetime]:
    return point.position, point.started_at


def _select_levels(points: Sequence[RecentPoint]) -> list[RecentPoint]:
    """Return the points that have a valid level, including those with reused counts."""
    return [point for point in points if point.value is not None and point.quarantine in {None, REUSED}]


def _select_present_failure(run: UnmeasuredRun | None, points: Iterable[RecentPoint]) -> UnmeasuredRun | None:
    """Return a run without a level if no point of its cell is newer; otherwise None."""
    if run is None or any(point.started_at >= run.started_at for point in points):
        return None
    return run


def _build_cell(
    points: Sequence[RecentPoint],
    failed_run: UnmeasuredRun | None,
    efficiency_points: Sequence[RecentPoint],
    nightly_start: datetime | None,
    level_starts: Mapping[UUID, bool],
) -> GridCell:
    """Return a cell with its newest level and the level to compare it with, or with the reason why it has none.

    Parameters
    ----------
    failed_run
        The run without a level that is newer than all points; None if there is none.
    """
    points_with_level = _select_levels(points)
    if failed_run is not None:
        return GridCell(run_id=failed_run.run_id, environment=failed_run.environment, reason=failed_run.reason)
    if not points_with_level:
        return _make_empty_cell(points)
    latest_point = _find_newest_point(points_with_level)
    older_points = [point for point in points_with_level if point is not latest_point]
    # A level of the nightly run is compared with a level from before this run. Any other level is compared with a
    # clearly older one, because a slightly older one probably belongs to the same night.
    compared_until = latest_point.started_at - MIN_COMPARED_AGE
    if nightly_start is not None and latest_point.started_at >= nightly_start:
        compared_until = nightly_start
    points_to_compare = [point for point in older_points if point.started_at <= compared_until]
    previous_point = _find_newest_point(points_to_compare or older_points) if older_points else None
    # For each drift between the two levels, whether it is certain.
    certainties = [
        level_starts[point.run_id]
        for point in points_with_level
        if point.run_id in level_starts and _is_between(previous_point, point, latest_point)
    ]
    return GridCell(
        series_id=latest_point.series_id,
        run_id=latest_point.run_id,
        environment=latest_point.environment,
        value=latest_point.value,
        before=previous_point.value if previous_point else None,
        since=previous_point.started_at if previous_point else None,
        revision=latest_point.revision,
        flagged=any(certainties),
        provisional=bool(certainties) and not any(certainties),
        efficiency=_find_efficiency(efficiency_points, latest_point.revision),
    )


def _find_efficiency(points: Iterable[RecentPoint], revision: str) -> Number | None:
    """Return the newest valid efficiency at a commit; None if there is none: that of another commit would mislead."""
    points_at_commit = [point for point in points if point.revision == revision]
    valid_points = _select_levels(points_at_commit)
    return _find_newest_point(valid_points).value if valid_points else None


def _is_between(previous_point: RecentPoint | None, point: RecentPoint, latest_point: RecentPoint) -> bool:
    """Return whether a point is after the previous level (False without one), and not after the newest one."""
    return previous_point is not None and _get_history_order(previous_point) < _get_history_order(
        point
    ) <= _get_history_order(latest_point)


def _make_empty_cell(points: Sequence[RecentPoint]) -> GridCell:
    """Return a cell without a level, with the reason."""
    if not points:
        return GridCell(reason="not measured here")
    newest_point = _find_newest_point(points)
    reason = (
        f"in quarantine: {newest_point.quarantine}"
        if newest_point.quarantine
        else newest_point.status.value.replace("_", " ")
    )
    return GridCell(
        series_id=newest_point.series_id,
        run_id=newest_point.run_id,
        environment=newest_point.environment,
        reason=reason,
    )
