"""The page with the nightly grid as a heat map: the level of each cell, and its change since the last nightly run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from math import floor, log10

from flask import abort, request
from sqlalchemy.orm import Session

from runner.contract.metrics import MetricView, get_metric, list_shown_metrics
from runner.contract.nightly import NightlyDigest
from service.nightly.queries import nightly_runs, recent_points
from service.nightly.rules import nightly_grid
from service.nightly.rules.digest import list_missed_cells
from service.nightly.rules.nightly_grid import (
    GridCase,
    GridCell,
    LastNightlyRun,
    NightlyGrid,
    RecentPoint,
    SeenCase,
    UnmeasuredRun,
)
from service.rules.environment_labels import ColumnLabel, label_columns
from service.store import cases, environments
from service.store.series import drifts, sparklines
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("matrix")

_EFFICIENCY_METRIC = "scaling-efficiency"
_MAX_ROWS = 100
_MAX_SHADE = 4
_MIN_SHADED_PERCENT = 0.01
"""Smaller changes are coloured as this one, also because zero has no logarithm."""
_MAX_DRAWN_COLUMNS = 3
"""The largest number of columns with which the cells of a table have room for sparklines."""

CasesAndFailures = tuple[list[SeenCase], list[UnmeasuredRun]]
"""The cases that have reported a metric, and the runs that measured nothing."""


@dataclass(frozen=True, slots=True)
class MatrixQuery:
    """The arguments in the address of the page."""

    metric: str
    subject: str
    workload: str
    one_commit: bool

    @classmethod
    def from_query(cls) -> MatrixQuery:
        """Return the arguments of the current request."""
        return cls(
            metric=request.args.get("metric") or "minor-faults",
            subject=request.args.get("subject", "").strip(),
            workload=request.args.get("workload", "").strip(),
            one_commit="one-commit" in request.args,
        )


@page(bp, "/matrix")
def show() -> Page:
    """Return the page with the grid of one metric."""
    # Choose the cases to show, and build their grid.
    query = MatrixQuery.from_query()
    with get_database().reading() as session:
        nightly_run = _find_nightly_run(session)
        missed_cases = [] if nightly_run is None else list_missed_cells(nightly_run)
        measured_cases, failed_runs = _list_cases_and_failures(session, query)
        all_cases = nightly_grid.list_cases(chain(measured_cases, failed_runs))
        current_cases = [case for case in all_cases if not case.superseded or "earlier" in request.args]
        shown_cases = current_cases if "all" in request.args else current_cases[:_MAX_ROWS]
        grid = _build_shown_grid(session, query, (measured_cases, failed_runs), shown_cases, nightly_run)
        grids = nightly_grid.split_grid_by_subject(grid)
        sparkline_of_series = sparklines.read_sparklines(session, _list_drawn_series(grids))
        workloads = cases.list_workloads(session)
        settings = environments.find_settings(
            session, [environment for column in grid.columns for environment in column.environments]
        )
    # Build the page.
    cells = [cell for row in grid.rows for cell in row.cells]
    return Page(
        "nightly/nightly_grid.html",
        {
            "n_shown": len(shown_cases),
            "n_current": len(current_cases),
            "n_earlier": sum(case.superseded for case in all_cases),
            "parts": grids,
            "sparklines": sparkline_of_series,
            "metric": get_metric(query.metric),
            "metrics": sorted({*list_shown_metrics(MetricView.MATRIX), query.metric}, key=rank_metric),
            "subject": query.subject,
            "workload": query.workload,
            "workloads": workloads,
            "one_commit": query.one_commit,
            "unequal": any(cell.other_commit for cell in cells),
            "labels": [_label_columns(grid, settings) for grid in grids],
            "shade": _choose_shade,
            "nightly_run": nightly_run,
            "missed": missed_cases,
            "efficient": any(cell.efficiency is not None for cell in cells),
            "unmeasured": sum(bool(cell.reason) and cell.is_run for cell in cells),
        },
        document=lambda: _build_document(query, nightly_run),
        table=lambda: _build_table(_build_whole_grid(query, nightly_run), get_metric(query.metric).unit),
    )


def _list_drawn_series(parts: Iterable[NightlyGrid]) -> list[int]:
    """Return the series that get sparklines: those in tables with few columns, where there is room for them."""
    narrow_grids = (part for part in parts if len(part.columns) <= _MAX_DRAWN_COLUMNS)
    return [
        cell.series_id for part in narrow_grids for row in part.rows for cell in row.cells if cell.series_id is not None
    ]


def _list_cases_and_failures(session: Session, query: MatrixQuery) -> CasesAndFailures:
    """Return what can have a row: the cases that have reported the metric, and the runs that measured nothing."""
    measured_cases = recent_points.list_seen_cases(session, query.metric, query.subject, query.workload)
    failed_runs = recent_points.list_failures(session, query.subject)
    if query.workload:
        measured_keys = {case.case_key for case in measured_cases}
        failed_runs = [run for run in failed_runs if run.case_key in measured_keys]
    return measured_cases, failed_runs


def _build_shown_grid(
    session: Session,
    query: MatrixQuery,
    cases_and_failures: CasesAndFailures,
    shown_cases: Sequence[GridCase],
    nightly_run: NightlyDigest | None,
) -> NightlyGrid:
    """Return the grid with the rows of these cases. Only their data is read: there can be thousands of other cases."""
    names = {(case.subject, case.case) for case in shown_cases}
    measured_cases, failed_runs = cases_and_failures
    points = recent_points.list_recent_points(
        session, (case for case in measured_cases if (case.subject, case.case) in names)
    )
    efficiency_points: list[RecentPoint] = []
    if query.metric != _EFFICIENCY_METRIC:
        efficiency_cases = recent_points.list_seen_cases(session, _EFFICIENCY_METRIC, query.subject, query.workload)
        efficiency_points = recent_points.list_recent_points(
            session, (case for case in efficiency_cases if (case.subject, case.case) in names)
        )
    failures = [run for run in failed_runs if (run.subject, run.case) in names]
    settings = environments.find_settings(
        session, {point.environment for point in points} | {run.environment for run in failures}
    )
    grid = nightly_grid.build_grid(
        points,
        failures,
        efficiency_points,
        None if nightly_run is None else _summarise_nightly_run(session, nightly_run),
        level_starts=drifts.map_level_starts(session, _find_oldest_positions(points)),
        one_commit=query.one_commit,
        machine_of_environment={
            environment: nightly_grid.select_machine_settings(settings_of_environment)
            for environment, settings_of_environment in settings.items()
        },
    )
    keys = {(case.subject, case.case_key) for case in shown_cases}
    return replace(grid, rows=tuple(row for row in grid.rows if (row.subject, row.case_key) in keys))


def _build_whole_grid(query: MatrixQuery, nightly_run: NightlyDigest | None) -> NightlyGrid:
    """Return the grid with the rows of all cases that a query selects, for downloads."""
    with get_database().reading() as session:
        measured_cases, failed_runs = _list_cases_and_failures(session, query)
        all_cases = nightly_grid.list_cases(chain(measured_cases, failed_runs))
        return _build_shown_grid(session, query, (measured_cases, failed_runs), all_cases, nightly_run)


def _build_document(query: MatrixQuery, nightly_run: NightlyDigest | None) -> dict[str, object]:
    """Return the whole grid as JSON."""
    grid = _build_whole_grid(query, nightly_run)
    return {"nightly_run": nightly_run, "columns": grid.columns, "rows": grid.rows}


def _find_nightly_run(session: Session) -> NightlyDigest | None:
    """Return the requested nightly run, or else the last one, or None; answer 404 if the requested one is missing."""
    requested_id = request.args.get("nightly_run", "").strip()
    name = requested_id or nightly_runs.find_newest_run_name(session)
    nightly_run = None if name is None else nightly_runs.find_nightly_run(session, name)
    if requested_id and nightly_run is None:
        abort(404, "There is no nightly run with this name.")
    return nightly_run


def _summarise_nightly_run(session: Session, nightly_run: NightlyDigest) -> LastNightlyRun:
    """Return the facts about a nightly run that the grid depends on: its start, its hosts, and the missed cases."""
    hosts = frozenset(cell.host for cell in nightly_run.cells)
    subjects = nightly_runs.map_subjects(session, nightly_run.name)
    missed_reasons = {
        (subjects[cell.place], cell.host, cell.case): cell.reason
        for cell in list_missed_cells(nightly_run)
        if cell.case and cell.place in subjects
    }
    return LastNightlyRun(nightly_run.started_at, hosts, missed_reasons)


def _find_oldest_positions(points: Iterable[RecentPoint]) -> dict[int, int]:
    """Return the position of the oldest recent point of each series."""
    oldest_positions: dict[int, int] = {}
    for point in points:
        oldest_positions[point.series_id] = min(point.position, oldest_positions.get(point.series_id, point.position))
    return oldest_positions


def _label_columns(grid: NightlyGrid, settings: dict[str, dict[str, str]]) -> list[ColumnLabel]:
    """Return a label for each column of a grid, which says how it differs from the other columns of the same host."""
    labels: list[ColumnLabel] = []
    for _, columns_of_host in groupby(grid.columns, key=lambda column: column.host):
        environments_of_columns = [
            [settings.get(environment, {}) for environment in column.environments] for column in columns_of_host
        ]
        # A setting that varies within a column distinguishes its cases, not the columns.
        varying_settings: set[str] = set()
        for environments_of_column in environments_of_columns:
            varying_settings |= _find_varying_settings(environments_of_column)
        common_settings = []
        for first_environment, *_ in environments_of_columns:
            common_settings.append(
                {name: value for name, value in first_environment.items() if name not in varying_settings}
            )
        labels += label_columns(common_settings)
    return labels


def _find_varying_settings(environments_of_column: Sequence[dict[str, str]]) -> set[str]:
    """Return the settings that do not have the same value in all environments of a column."""
    names = set(chain(*environments_of_column))
    return {name for name in names if len({environment.get(name) for environment in environments_of_column}) > 1}


def _choose_shade(cell: GridCell) -> int:
    """Return the depth of a cell's colour, on a logarithmic scale of its change in percent; 0 if it is noise.

    The steps 2, 3 and 4 begin at 0.3, 3 and 30 %, in the middle between two powers of ten.
    """
    if not cell.change or not cell.flagged:
        return 0
    if cell.percent is None:
        return _MAX_SHADE  # The previous level was zero.
    power_of_ten = floor(log10(max(abs(cell.percent), _MIN_SHADED_PERCENT)) + 0.5)
    return max(1, min(_MAX_SHADE, 2 + power_of_ten))


def _build_table(grid: NightlyGrid, unit: str) -> Table:
    """Return the grid as a table for CSV: a row for each case and column."""
    columns = ("subject", "case", "host", "environment", f"level ({unit})", "before", "since", "change", "percent")
    return Table(
        (*columns, "flagged", "provisional", "revision", "efficiency", "reason", "missed"),
        (
            (
                *(row.subject, row.case, column.host, cell.environment or column.environment),
                *(cell.value, cell.before, cell.since, cell.change, cell.percent, cell.flagged, cell.provisional),
                *(cell.revision, cell.efficiency, cell.reason or None, cell.missed or None),
            )
            for row in grid.rows
            for column, cell in zip(grid.columns, row.cells, strict=True)
        ),
    )
