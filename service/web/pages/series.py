"""A series: its trend, why each drift in it was flagged, and every point."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from flask import Blueprint, abort, jsonify, request, url_for
from flask.typing import ResponseReturnValue

from service.schemas.history import SeriesDetail
from service.store.sibling_series import Sibling
from service.web import vendor
from service.web.charts.plot import Plots, Window
from service.web.charts.trend import Chart, chart
from service.web.pages.source import source
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import point_table

bp = Blueprint("series", __name__)

_FIRST_ROWS = 100
_OTHERS = 4
"""How many series may be laid over one: more cannot be told apart."""
_REGION = "region:"
_PLOTS = Plots()


@page(bp, "/series/<int:series_id>")
def show(series_id: int) -> Page:
    """Show one series."""
    series = _find(series_id)
    rows = len(series.points) if "all" in request.args else _FIRST_ROWS
    points = _PLOTS.of(series).newest_first[:rows]
    siblings = sorted(source().siblings(series), key=lambda one: _nearness(series, one))
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
    """Return what the chart of a series draws, or of the part of it that is looked at."""
    start, end = (request.args.get(name, type=float) for name in ("from", "to"))
    window = None if start is None or end is None else Window(start, end, request.args.get("x") == "time")
    series = _find(series_id)
    return jsonify(_draw(series, _others(series), window))


def _draw(series: SeriesDetail, others: Sequence[SeriesDetail], window: Window | None = None) -> Chart:
    some = UUID(int=0)
    before, _, after = url_for("run.show", run_id=some).partition(str(some))  # once, not for each of many runs
    return chart(series, lambda run_id: f"{before}{run_id}{after}", window, others, _PLOTS.of)


def _find(series_id: int) -> SeriesDetail:
    series = source().series(series_id)
    if series is None:
        abort(404, "There is no such series. It may belong to another Faultwatch service.")
    return series


def _others(series: SeriesDetail) -> list[SeriesDetail]:
    """Return the series to lay over this one, of the same subject: commits of another have no place on its axis."""
    asked = [*dict.fromkeys(request.args.getlist("with", type=int))][:_OTHERS]
    found = [source().series(other) for other in asked if other != series.id]
    return [other for other in found if other is not None and other.subject == series.subject]


def _nearness(series: SeriesDetail, one: Sibling) -> tuple[bool, str, str, tuple[int, str]]:
    """Put the other metrics of the case itself first."""
    return (one.case, one.host) != (series.case, series.host), one.case, one.host, rank(one.metric)


def _whole_and_region(series: SeriesDetail, siblings: Sequence[Sibling]) -> dict[str, int]:
    """Return the ids of this metric counted in the whole process and in the region of interest; none of only one."""
    here = [one for one in siblings if one.case == series.case and one.host == series.host]
    by_metric = {series.metric: series.id, **{one.metric: one.id for one in here}}
    plain = series.metric.removeprefix(_REGION)
    pair = {"Whole process": by_metric.get(plain), "Region of interest": by_metric.get(_REGION + plain)}
    found = {name: id_ for name, id_ in pair.items() if id_ is not None}
    return dict(sorted(found.items(), reverse=True)) if len(found) == 2 else {}
