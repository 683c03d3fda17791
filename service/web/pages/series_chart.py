"""Reads the series that an address names, and builds its chart with the address's zoom, overlays and kind of axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from uuid import UUID

from flask import abort, request, url_for

from service.rules.events import lifecycle
from service.schemas.history import SeriesDetail
from service.schemas.triage import State
from service.store.events import event_drifts
from service.store.series import series as series_store
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database, is_published
from service.web.charts.chart_points import Plots, Window
from service.web.charts.trend import Chart, build_chart
from service.web.row_ids import MAX_ROW_ID

PLOTS = Plots()
MAX_OTHER_SERIES = 4
"""Largest number of overlaid series that can be told apart."""


def find_series(series_id: int) -> SeriesDetail:
    """Return a series, redacted for the caller; answer 404 if it does not exist."""
    series = _read_series(series_id)
    if series is None:
        abort(404, "There is no such series. It may belong to another Faultwatch service.")
    return series


def list_overlaid_series(series: SeriesDetail) -> list[SeriesDetail]:
    """Return the series to overlay on this one; only of the same subject, whose commits are on the same axis."""
    ids = [*dict.fromkeys(request.args.getlist("with", type=int))][:MAX_OTHER_SERIES]
    overlaid_series = [_read_series(other) for other in ids if other != series.id and 0 <= other <= MAX_ROW_ID]
    return [other for other in overlaid_series if other is not None and other.subject == series.subject]


def is_axis_by_time() -> bool:
    """Return whether the horizontal axis is by time."""
    return request.args.get("x") == "time"


def read_window() -> Window | None:
    """Return the zoomed part of the axis; None for the whole axis, which is shown unless the address names a part."""
    start, end = request.args.get("from", type=float), request.args.get("to", type=float)
    if start is None or end is None or not (math.isfinite(start) and math.isfinite(end)) or start >= end:
        return None
    return Window(start, end, by_time=is_axis_by_time())


def draw_chart(series: SeriesDetail, overlaid_series: Sequence[SeriesDetail], window: Window | None = None) -> Chart:
    """Lay out the chart of a series.

    In a published site, the whole chart is laid out, without links to runs, and with all drifts open.

    Parameters
    ----------
    window
        The zoomed part; None for the whole axis.
    """
    if is_published():  # A published site has no pages of runs, and no server that returns the points for a zoom.
        chart = build_chart(series, lambda _: "", overlaid_series=overlaid_series, get_plot=PLOTS.get_plot)
        return {**chart, "thinned": False}
    no_run = UUID(int=0)
    before, _, after = url_for("run.show", run_id=no_run).partition(str(no_run))  # url_for is slow: called only once
    with get_database().reading() as session:
        states = event_drifts.map_states_by_drift(session, [drift.id for drift in series.drifts])
    standings = {
        drift_id: "accepted" if state is State.EXPECTED else "closed"
        for drift_id, state in states.items()
        if state in lifecycle.CLOSED
    }
    return build_chart(
        series,
        lambda run_id: f"{before}{run_id}{after}",
        window=window,
        overlaid_series=overlaid_series,
        get_plot=PLOTS.get_plot,
        standings=standings,
    )


def _read_series(series_id: int) -> SeriesDetail | None:
    with get_database().reading() as session:
        return redact_view_for_caller(series_store.read_series(session, series_id))
