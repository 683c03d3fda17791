"""The nightly grid as a heat map: the level of each cell, and its change since last night."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from math import log10

from flask import abort, request
from sqlalchemy.orm import Session

from runner.contract import CATALOGUE, metric
from runner.contract.night import NightDigest
from service.rules import nightly_grid
from service.rules.column_words import ColumnWords, column_words
from service.rules.nightly_digest import Missed
from service.rules.nightly_digest import list_missed as missed_in
from service.rules.nightly_grid import GridCell, LastNight, NightlyGrid
from service.store import cases, drifts, environments, nights, recent_points
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering.formats import Page, Table, page
from service.web.rendering.metric_order import rank

bp = page_blueprint("matrix")

_METRICS = [name for name, entry in CATALOGUE.items() if entry.judged]
_ALSO = ["throughput", "sys-percent", "elapsed", "max-rss", "faults-per-operation", "scaling-efficiency"]
_EFFICIENCY = "scaling-efficiency"
_ROWS = 100
_SHADES = 4


@page(bp, "/matrix")
def show() -> Page:
    """Show the grid of one metric."""
    name = request.args.get("metric") or "minor-faults"
    subject, workload = (request.args.get(what, "").strip() for what in ("subject", "workload"))
    with database().reading() as session:
        points = recent_points.points(session, name, subject, workload)
        scaling = recent_points.points(session, _EFFICIENCY, subject, workload) if name != _EFFICIENCY else []
        failed = [run for run in recent_points.failures(session) if not subject or run.subject == subject]
        night = _night(session)
        missed = [] if night is None else missed_in(night)
        failed = failed if not workload else _of_cases(failed, points)
        grid = nightly_grid.build_grid(
            points,
            failed,
            scaling,
            _last_night(night, missed),
            flagged=drifts.begun_levels(session, _oldest(points)),
            one_commit="one-commit" in request.args,
        )
        workloads = cases.workloads(session)
        knobs = environments.knobs(session, [column.environment for column in grid.columns])
    current = [row for row in grid.rows if not row.superseded or "earlier" in request.args]
    shown = current if "all" in request.args else current[:_ROWS]
    parts = nightly_grid.by_subject(grid, shown)
    return Page(
        "matrix.html",
        {
            "grid": grid,
            "n_shown": len(shown),
            "n_current": len(current),
            "n_earlier": sum(row.superseded for row in grid.rows),
            "parts": parts,
            "metric": metric(name),
            "metrics": sorted({*_METRICS, *_ALSO, name}, key=rank),
            "subject": subject,
            "workload": workload,
            "workloads": workloads,
            "one_commit": "one-commit" in request.args,
            "unequal": any(cell.other_commit for row in grid.rows for cell in row.cells),
            "labels": [_labels(part, knobs) for part in parts],
            "shade": _shade,
            "night": night,
            "missed": missed,
            "efficient": any(cell.efficiency is not None for row in grid.rows for cell in row.cells),
            "unmeasured": sum(bool(cell.why) and cell.is_run for row in grid.rows for cell in row.cells),
        },
        document=lambda: {"night": night, "columns": grid.columns, "rows": grid.rows},
        table=lambda: _table(grid, metric(name).unit),
    )


def _night(session: Session) -> NightDigest | None:
    """Return the requested night, or the last one."""
    requested = request.args.get("night", "").strip()
    name = requested or nights.newest(session)
    night = None if name is None else nights.find(session, name)
    if requested and night is None:
        abort(404, "There is no night of this name.")
    return night


def _last_night(night: NightDigest | None, missed: list[Missed]) -> LastNight | None:
    if night is None:
        return None
    hosts = frozenset(cell.host for cell in night.cells)
    return LastNight(night.started_at, hosts, {(cell.host, cell.case): cell.why for cell in missed if cell.case})


def _of_cases(
    failed: list[nightly_grid.UnmeasuredRun], points: list[nightly_grid.RecentPoint]
) -> list[nightly_grid.UnmeasuredRun]:
    known = {point.case_key for point in points}
    return [run for run in failed if run.case_key in known]


def _oldest(points: Iterable[nightly_grid.RecentPoint]) -> dict[int, int]:
    """Return the position of the oldest recent point of each series."""
    oldest: dict[int, int] = {}
    for point in points:
        oldest[point.series_id] = min(point.position, oldest.get(point.series_id, point.position))
    return oldest


def _labels(part: NightlyGrid, knobs: dict[str, dict[str, str]]) -> list[ColumnWords]:
    """Return for each column of a table how it differs from the other columns of its host there."""
    labels: list[ColumnWords] = []
    for _, of_host in groupby(part.columns, key=lambda column: column.host):
        labels += column_words([knobs.get(column.environment, {}) for column in of_host])
    return labels


def _shade(cell: GridCell) -> int:
    """Return the depth of a cell's colour: one step for each power of ten of percent; none for what is noise."""
    if not cell.change or not cell.flagged:
        return 0
    if cell.percent is None:
        return _SHADES
    return max(1, min(_SHADES, 2 + int(log10(max(abs(cell.percent), 0.01)) + 0.5)))


def _table(grid: NightlyGrid, unit: str) -> Table:
    columns = ("subject", "case", "host", "environment", f"level ({unit})", "before", "since", "change", "percent")
    return Table(
        (*columns, "flagged", "provisional", "revision", "efficiency", "why", "missed"),
        (
            (
                *(row.subject, row.case, column.host, column.environment, cell.value, cell.before, cell.since),
                *(
                    cell.change,
                    cell.percent,
                    cell.flagged,
                    cell.provisional,
                    cell.revision,
                    cell.efficiency,
                    cell.why or None,
                    cell.missed or None,
                ),
            )
            for row in grid.rows
            for column, cell in zip(grid.columns, row.cells, strict=True)
        ),
    )
