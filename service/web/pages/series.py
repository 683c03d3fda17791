"""The page of a series: its trend, the reason for each of its drifts, and all its points."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from flask import jsonify, request
from flask.typing import ResponseReturnValue

from runner.contract import Kind, get_metric
from runner.contract.nomination import Nomination
from service.pipeline.expected_further_runs import FurtherRuns
from service.pipeline.nominate_changes import list_likely_changes
from service.rules.access.scope import Scope
from service.rules.series.level_variation import describe_level_variation
from service.schemas.history import SeriesDetail
from service.store import environments
from service.store.events import silences
from service.store.series import sibling_series
from service.store.series.commits_without_run import Gaps, find_gaps
from service.store.series.sibling_series import Sibling
from service.web import vendor
from service.web.access import authorization
from service.web.app_resources import get_database, is_published
from service.web.pages.error_pages import make_page_blueprint
from service.web.pages.series_chart import (
    MAX_OTHER_SERIES,
    PLOTS,
    draw_chart,
    find_series,
    list_overlaid_series,
    read_window,
)
from service.web.rendering import forms
from service.web.rendering.csv_tables import build_point_table
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, page

bp = make_page_blueprint("series")

_FIRST_ROWS = 100
_PUBLISHED_ROWS = 20
"""Rows of the table on a page of a published site. The chart still contains all points."""
_REGION_PREFIX = "region:"
_MAX_SIBLINGS = 300
_MAX_SEARCHED_COMMITS = 200
"""At most so many commits that lack the case are searched for runs of its host, which can take a millisecond each."""
_COMPANIONS = ("minor-faults", "sys-time", "throughput", "elapsed")
"""The metrics that can be shown below a series with one click, in this order."""


@page(bp, "/series/<int:series_id>")
def show(series_id: int) -> Page:
    """Show one series."""
    series = find_series(series_id)
    # The table of points: at first only the newest ones, because a series can be long.
    n_rows = _PUBLISHED_ROWS if is_published() else _FIRST_ROWS
    if "all" in request.args:
        n_rows = len(series.points)
    points = PLOTS.get_plot(series).points_newest_first[:n_rows]
    siblings = sorted(_list_siblings(series), key=lambda sibling: _rank_sibling(series, sibling))
    overlaid_series = list_overlaid_series(series)
    drawing = draw_chart(series, overlaid_series)
    can_draw = drawing["path"] or drawing["beside"]
    suspected_changes, power = _find_likely_changes(series)
    return Page(
        "series.html",
        {
            "series": series,
            "chart": drawing,
            "others": overlaid_series,
            "whole_or_region": _find_whole_and_region(series, siblings),
            "silenced_until": _find_end_of_silence(series),
            "may_silence": authorization.find_caller().may(Scope.TRIAGE),
            "author": forms.find_likely_author(),
            "siblings": siblings,
            "max_siblings": _MAX_SIBLINGS,
            "companions": _choose_companions(series, siblings),
            "twins": [sibling for sibling in siblings if _is_twin(series, sibling)][:MAX_OTHER_SERIES],
            "points": points,
            "gaps": _find_gaps(series, None if "all" in request.args else _MAX_SEARCHED_COMMITS),
            "n_gap_rows": None if "all" in request.args else n_rows,
            "doubts": _map_doubts(series),
            "restless": _explain_variation(series),
            "suspected": suspected_changes,
            "imported": bool(suspected_changes) and _is_imported(series),
            "power": power,
            "flagged": {drift.run_after: drift for drift in series.drifts},
            "total": len(series.points),
            "scripts": [vendor.find_address(package) for package in vendor.CHART_SCRIPTS] if can_draw else [],
        },
        document=lambda: series,
        table=lambda: build_point_table(series, _find_gaps(series, None).commits),
    )


@bp.get("/series/<int:series_id>/chart.json")
def drawing(series_id: int) -> ResponseReturnValue:
    """Return the data of a series' chart, for the whole series or for the zoomed part."""
    series = find_series(series_id)
    return jsonify(draw_chart(series, list_overlaid_series(series), read_window()))


def _find_gaps(series: SeriesDetail, max_searched: int | None) -> Gaps:
    with get_database().reading() as session:
        return find_gaps(session, series.id, max_searched)


def _map_doubts(series: SeriesDetail) -> dict[str, str]:
    """Return a sentence for each drift in doubt that says what will end the doubt, by the drift's id."""
    with get_database().reading() as session:
        further_runs = FurtherRuns(session, datetime.now(UTC))
        return {
            drift.id: further_runs.describe_end_of_doubt(drift) for drift in series.drifts if drift.evidence.wants_rerun
        }


def _explain_variation(series: SeriesDetail) -> str:
    """Return why the runs at the newest level of a judged count differ without a drift; empty if there is no reason."""
    if not series.judged or get_metric(series.metric).kind is not Kind.COUNT:
        return ""
    path = [point for point in series.points if point.on_path and not point.reused and point.value is not None]
    runs_after_drifts = {drift.run_after for drift in series.drifts}
    start = max((index for index, point in enumerate(path) if point.run_id in runs_after_drifts), default=0)
    return describe_level_variation([point.value for point in path[start:] if point.value is not None])


def _find_likely_changes(series: SeriesDetail) -> tuple[list[Nomination], str]:
    """Return the likely changes that no pairs have proven or refuted, and a sentence on how many pairs prove a rise.

    Changes that are already drifts are left out. The sentence is empty if the power of a comparison cannot be
    estimated.
    """
    if not series.judged:
        return [], ""
    with get_database().reading() as session:
        likely_changes = list_likely_changes(session, series)
    # A drift is nominated with its last candidate, which need not be the first run on the new level.
    flagged_revisions = {revision for drift in series.drifts for revision in (drift.revision, drift.bad)}
    suspected_changes = [nomination for nomination in likely_changes.items if nomination.head not in flagged_revisions]
    # A single series has at most one power.
    return suspected_changes, next((power.sentence for power in likely_changes.powers), "")


def _is_imported(series: SeriesDetail) -> bool:
    """Return whether all runs of a series were imported, so that no host can measure its commits again."""
    with get_database().reading() as session:
        return environments.has_only_imported_runs(session, series.subject, series.case, series.host)


def _find_end_of_silence(series: SeriesDetail) -> datetime | None:
    """Return until when the drifts of a series are silenced; None if they are not, or if the reader may not know."""
    if is_published() or authorization.is_anonymous():
        return None
    with get_database().reading() as session:
        return silences.find_end_of_silence(session, series, datetime.now(UTC))


def _list_siblings(series: SeriesDetail) -> list[Sibling]:
    with get_database().reading() as session:
        return sibling_series.list_siblings(session, series, _MAX_SIBLINGS)


def _is_twin(series: SeriesDetail, sibling: Sibling) -> bool:
    """Return whether a sibling is the same metric of the same case, on another host."""
    return (sibling.case, sibling.definition, sibling.metric) == (series.case, series.definition, series.metric)


def _rank_sibling(series: SeriesDetail, sibling: Sibling) -> tuple[bool, bool, bool, str, str, tuple[int, str]]:
    """Return a sort key: first the same metric on other hosts, then other metrics of the case, then other cases."""
    is_other_case, is_other_host = sibling.case != series.case, sibling.host != series.host
    is_no_twin = not _is_twin(series, sibling)
    return is_no_twin, is_other_case, is_other_host, sibling.case, sibling.host, rank_metric(sibling.metric)


def _choose_companions(series: SeriesDetail, siblings: Sequence[Sibling]) -> list[Sibling]:
    """Return the metrics of the same runs that show the cost of a change: faults, system time, speed."""
    siblings_by_metric = {
        sibling.metric: sibling
        for sibling in siblings
        if (sibling.case, sibling.definition, sibling.host) == (series.case, series.definition, series.host)
    }
    return [siblings_by_metric[metric] for metric in _COMPANIONS if metric in siblings_by_metric]


def _find_whole_and_region(series: SeriesDetail, siblings: Sequence[Sibling]) -> dict[str, int]:
    """Return the ids of the series of this metric for the whole process and for the region; empty unless both exist."""
    siblings_of_case = [sibling for sibling in siblings if sibling.case == series.case and sibling.host == series.host]
    id_by_metric = {series.metric: series.id, **{sibling.metric: sibling.id for sibling in siblings_of_case}}
    metric = series.metric.removeprefix(_REGION_PREFIX)
    whole_id, region_id = id_by_metric.get(metric), id_by_metric.get(_REGION_PREFIX + metric)
    return {} if whole_id is None or region_id is None else {"Whole process": whole_id, "Region of interest": region_id}
