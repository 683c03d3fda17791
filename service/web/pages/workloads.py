"""Workloads and their cases, of which any run is stored."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from flask import abort

from service.schemas.directory import CaseEntry
from service.schemas.history import SeriesSummary
from service.store import cases
from service.store.series import series
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("workloads")


@page(bp, "/workloads")
def index() -> Page:
    """List all workloads with their cases."""
    return _list_workloads(None)


@page(bp, "/workloads/<name>")
def workload(name: str) -> Page:
    """List the cases of one workload."""
    return _list_workloads(name)


@page(bp, "/cases/<key>")
def case(key: str) -> Page:
    """Show the series of one case."""
    with get_database().reading() as session:
        entry = cases.find_case(session, key)
        if entry is None:
            abort(404, "There is no such case. It may belong to another Faultwatch service.")
        of_name = series.list_page(session, series.SeriesFilter(case=entry.name)).items
    same_case = entry.definition, entry.parameters
    summaries = [summary for summary in of_name if (summary.definition, summary.parameters) == same_case]
    return Page(
        "case.html",
        {"case": entry, "groups": _group_series_by_host(summaries)},
        document=lambda: {"case": entry, "series": summaries},
        table=lambda: Table.from_records(
            summaries,
            ("series", lambda summary: summary.id),
            *("subject", "host", "metric", "unit", "latest"),
            ("points", lambda summary: summary.n_points),
        ),
    )


def _list_workloads(name: str | None) -> Page:
    """Return the page of all workloads, or of one."""
    with get_database().reading() as session:
        entries = cases.list_cases(session, name)
    if name is not None and not entries:
        abort(404, "No workload with this name has been measured yet.")
    groups = [(key, list(group)) for key, group in groupby(entries, lambda entry: entry.workload)]
    return Page(
        "workloads.html",
        {"workloads": groups, "name": name},
        document=lambda: entries,
        table=lambda: _build_table(entries),
    )


def _group_series_by_host(summaries: list[SeriesSummary]) -> list[tuple[str, str, list[SeriesSummary]]]:
    """Return series by subject and host."""

    def get_host(summary: SeriesSummary) -> tuple[str, str]:
        return summary.subject, summary.host

    def get_order(summary: SeriesSummary) -> tuple[Any, ...]:
        return get_host(summary), not summary.judged, rank_metric(summary.metric)

    groups = groupby(sorted(summaries, key=get_order), get_host)
    return [(subject, name, list(group)) for (subject, name), group in groups]


def _build_table(entries: list[CaseEntry]) -> Table:
    return Table.from_records(
        entries, ("case", lambda entry: entry.name), "workload", "key", "definition", "series", "last_seen"
    )
