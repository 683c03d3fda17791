"""The workloads and cases that have stored runs, and the page of a case with its charts, drifts and events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from flask import abort

from runner.contract.metrics import MetricView, list_shown_metrics
from service.schemas.directory import CaseEntry
from service.schemas.history import SeriesSummary
from service.store import cases, environments
from service.store.events import case_drifts, events, leading_drifts
from service.store.events.leading_drifts import SeriesSelection
from service.store.series import series, sparklines
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.pages import inbox
from service.web.pages.error_pages import make_page_blueprint
from service.web.pages.series_chart import MAX_OTHER_SERIES
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("workloads")

_MAX_DRIFTS = 50
_MAX_EVENTS = 10
_MAX_CHARTS = 8
"""Largest number of charts for each host."""
_COMPANIONS = frozenset(list_shown_metrics(MetricView.COMPARISON))
"""Metrics that get a chart even if they are not judged."""


@dataclass(frozen=True, slots=True)
class HostSeries:
    """The series of a case of one subject on one host, and the selection that gets charts."""

    subject: str
    host: str
    series: list[SeriesSummary]
    charted_series: list[SeriesSummary]


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
    """Show one case: its charts, its drifts, its events and its series."""
    with get_database().reading() as session:
        entry = cases.find_case(session, key)
        if entry is None:
            abort(404, "There is no such case. It may belong to another Faultwatch service.")
        series_of_name = series.list_page(session, series.SeriesFilter(case=entry.name)).items
        same_case = entry.definition, entry.parameters
        summaries = [summary for summary in series_of_name if (summary.definition, summary.parameters) == same_case]
        groups = _group_series_by_host(summaries)
        lines = sparklines.read_sparklines(
            session, [summary.id for group in groups for summary in group.charted_series]
        )
        drifts = redact_view_for_caller(case_drifts.list_case_drifts(session, key, _MAX_DRIFTS))
        event_ids, n_events = case_drifts.list_case_events(session, key, _MAX_EVENTS)
        selection = SeriesSelection(case_key=key)
        listed_events = redact_view_for_caller(
            leading_drifts.narrow_summaries(session, events.list_summaries_in_order(session, event_ids), selection)
        )
        rows = inbox.build_rows(session, listed_events, selection)
        # Only where the page would name the command that measures more commits.
        is_imported = (
            bool(groups)
            and not drifts.total
            and environments.has_only_imported_runs(session, groups[0].subject, entry.name)
        )
    return Page(
        "case.html",
        {
            "case": entry,
            "groups": groups,
            "common_charts": _list_common_charts(groups),
            "lines": lines,
            "drifts": drifts,
            "events": rows,
            "n_events": n_events,
            "imported": is_imported,
            # Each run has a point in the series of every metric that it measured.
            "n_runs": max((summary.n_points for summary in summaries), default=0),
        },
        document=lambda: {"case": entry, "series": summaries, "drifts": drifts.items, "events": listed_events},
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


def _group_series_by_host(summaries: list[SeriesSummary]) -> list[HostSeries]:
    """Return series by subject and host, judged ones first."""

    def get_host(summary: SeriesSummary) -> tuple[str, str]:
        return summary.subject, summary.host

    def get_order(summary: SeriesSummary) -> tuple[Any, ...]:
        return get_host(summary), not summary.judged, rank_metric(summary.metric)

    groups = ((names, list(group)) for names, group in groupby(sorted(summaries, key=get_order), get_host))
    return [HostSeries(subject, host, group, _choose_charted_series(group)) for (subject, host), group in groups]


def _choose_charted_series(summaries: list[SeriesSummary]) -> list[SeriesSummary]:
    """Return the series of one host to draw: the judged ones, and the metrics that show the cost of a change."""
    charted_series = [
        summary
        for summary in summaries
        if summary.latest is not None and (summary.judged or summary.metric in _COMPANIONS)
    ]
    return charted_series[:_MAX_CHARTS]


def _list_common_charts(groups: Iterable[HostSeries]) -> list[tuple[SeriesSummary, list[int]]]:
    """Return each charted series that the case has on several hosts: that of the first host, and the ids of the others.

    A chart shows only a few series, so only as many of the others are returned.
    """
    series_by_metric: dict[tuple[str, str], list[SeriesSummary]] = {}
    for group in groups:
        for summary in group.charted_series:
            series_by_metric.setdefault((group.subject, summary.metric), []).append(summary)
    return [
        (first, [summary.id for summary in others[:MAX_OTHER_SERIES]])
        for first, *others in series_by_metric.values()
        if others
    ]


def _build_table(entries: list[CaseEntry]) -> Table:
    return Table.from_records(
        entries, ("case", lambda entry: entry.name), "workload", "key", "definition", "series", "last_seen"
    )
