"""A series: its trend, why each drift in it was flagged, and every point."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from flask import abort, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from service.schemas.history import SeriesDetail
from service.store import series as series_store
from service.store import sibling_series
from service.store.sibling_series import Sibling
from service.web import vendor
from service.web.access.public_view import published
from service.web.charts.plot import Plots, Window
from service.web.charts.trend import Chart, chart
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import point_table
from service.web.row_ids import LARGEST

bp = page_blueprint("series")

_FIRST_ROWS = 100
_OTHERS = 4
"""Series that may be laid over one: more cannot be told apart."""
_REGION = "region:"
_SIBLINGS = 100
_PLOTS = Plots()


@page(bp, "/series/<int:series_id>")
def show(series_id: int) -> Page:
    """Show one series."""
    series = _find(series_id)
    rows = len(series.points) if "all" in request.args else _FIRST_ROWS
    points = _PLOTS.of(series).newest_first[:rows]
    siblings = sorted(_siblings(series), key=lambda sibling: _distance(series, sibling))
    others = _others(series)
    drawing = _draw(series, others)
    missing = vendor.missing()
    can_draw = not missing and (drawing["path"] or drawing["beside"])
    return Page(
        "series.html",
        {
            "series": series,
            "chart": drawing,
            "others": others,
            "whole_or_region": _whole_and_region(series, siblings),
            "siblings": siblings,
            "points": points,
            "flagged": {drift.run_after: drift for drift in series.drifts},
            "total": len(series.points),
            "scripts": [vendor.address(package) for package in vendor.CHART_SCRIPTS] if can_draw else [],
            "missing": missing,
        },
        document=lambda: series,
        table=lambda: point_table(series),
    )


@bp.get("/series/<int:series_id>/chart.json")
def drawing(series_id: int) -> ResponseReturnValue:
    """Return what the chart of a series draws, of all of it or of the part that is zoomed to."""
    start, end = (request.args.get(name, type=float) for name in ("from", "to"))
    window = None if start is None or end is None else Window(start, end, request.args.get("x") == "time")
    series = _find(series_id)
    return jsonify(_draw(series, _others(series), window))


def _draw(series: SeriesDetail, others: Sequence[SeriesDetail], window: Window | None = None) -> Chart:
    no_run = UUID(int=0)
    before, _, after = url_for("run.show", run_id=no_run).partition(str(no_run))  # once, not for each of many runs
    return chart(series, lambda run_id: f"{before}{run_id}{after}", window, others, _PLOTS.of)


def _find(series_id: int) -> SeriesDetail:
    series = _read(series_id)
    if series is None:
        abort(404, "There is no such series. It may belong to another Faultwatch service.")
    return series


def _read(series_id: int) -> SeriesDetail | None:
    with database().reading() as session:
        return published(series_store.detail(session, series_id))


def _siblings(series: SeriesDetail) -> list[Sibling]:
    with database().reading() as session:
        return sibling_series.of(session, series, _SIBLINGS)


def _others(series: SeriesDetail) -> list[SeriesDetail]:
    """Return the series to lay over this one, of the same subject: commits of another have no place on its axis."""
    ids = [*dict.fromkeys(request.args.getlist("with", type=int))][:_OTHERS]
    others = [_read(other) for other in ids if other != series.id and 0 <= other <= LARGEST]
    return [other for other in others if other is not None and other.subject == series.subject]


def _distance(series: SeriesDetail, sibling: Sibling) -> tuple[bool, str, str, tuple[int, str]]:
    """Return a sort key that puts the other metrics of the case itself first."""
    elsewhere = (sibling.case, sibling.host) != (series.case, series.host)
    return elsewhere, sibling.case, sibling.host, rank(sibling.metric)


def _whole_and_region(series: SeriesDetail, siblings: Sequence[Sibling]) -> dict[str, int]:
    """Return the ids of this metric in the whole process and in the region of interest; empty unless both exist."""
    of_case = [sibling for sibling in siblings if sibling.case == series.case and sibling.host == series.host]
    by_metric = {series.metric: series.id, **{sibling.metric: sibling.id for sibling in of_case}}
    metric = series.metric.removeprefix(_REGION)
    whole, region = by_metric.get(metric), by_metric.get(_REGION + metric)
    return {} if whole is None or region is None else {"Whole process": whole, "Region of interest": region}
