"""A series: its trend, why each drift in it was flagged, and every point."""

from __future__ import annotations

from flask import Blueprint, abort, request, url_for

from service import vendor
from service.pages.chart import chart
from service.pages.source import source
from service.pages.tables import point_table
from service.pages.twins import Page, page

bp = Blueprint("series", __name__, url_prefix="/series")

_FIRST_ROWS = 200


@page(bp, "/<int:series_id>")
def show(series_id: int) -> Page:
    """Show one series."""
    series = source().series(series_id)
    if series is None:
        abort(404, "There is no such series. It may belong to another Faultwatch service.")
    points = sorted(series.points, key=lambda point: (point.position, point.measured_at), reverse=True)
    drawing = chart(series, lambda run_id: url_for("run.show", run_id=run_id))
    missing = vendor.missing()
    can_draw = not missing and (drawing["path"] or drawing["beside"])
    return Page(
        "series.html",
        {
            "series": series,
            "chart": drawing,
            "points": points if "all" in request.args else points[:_FIRST_ROWS],
            "flagged": {drift.run_after: drift for drift in series.drifts},
            "total": len(points),
            "scripts": [vendor.address(package) for package in vendor.CHART_SCRIPTS] if can_draw else [],
            "missing": missing,
        },
        document=lambda: series,
        table=lambda: point_table(series),
    )
