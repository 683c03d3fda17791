"""Workloads and their cases, as far as anything was measured of them."""

from __future__ import annotations

from itertools import groupby

from flask import abort

from service.schemas.directory import CaseEntry
from service.schemas.history import SeriesSummary
from service.store import cases, series
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering.formats import Page, Table, page
from service.web.rendering.metric_order import rank

bp = page_blueprint("workloads")


@page(bp, "/workloads")
def listed() -> Page:
    """List all workloads with their cases."""
    return _listed(None)


@page(bp, "/workloads/<name>")
def workload(name: str) -> Page:
    """List the cases of one workload."""
    return _listed(name)


@page(bp, "/cases/<key>")
def case(key: str) -> Page:
    """Show the series of one case."""
    with database().reading() as session:
        entry = cases.find(session, key)
        if entry is None:
            abort(404, "There is no such case. It may belong to another Faultwatch service.")
        found = series.page(session, series.SeriesFilter(case=entry.name)).items
    found = [one for one in found if one.definition == entry.definition and one.parameters == entry.parameters]
    return Page(
        "case.html",
        {"case": entry, "groups": _by_host(found)},
        document=lambda: {"case": entry, "series": found},
        table=lambda: Table(
            ("series", "subject", "host", "metric", "unit", "latest", "points"),
            ((one.id, one.subject, one.host, one.metric, one.unit, one.latest, one.n_points) for one in found),
        ),
    )


def _listed(name: str | None) -> Page:
    with database().reading() as session:
        found = cases.listed(session, name)
    if name is not None and not found:
        abort(404, "Nothing was measured of a workload of this name yet.")
    groups = [(key, list(group)) for key, group in groupby(found, lambda entry: entry.workload)]
    return Page(
        "workloads.html",
        {"workloads": groups, "name": name},
        document=lambda: found,
        table=lambda: _table(found),
    )


def _by_host(found: list[SeriesSummary]) -> list[tuple[str, str, list[SeriesSummary]]]:
    def key(one: SeriesSummary) -> tuple[str, str]:
        return one.subject, one.host

    groups = groupby(sorted(found, key=lambda one: (key(one), not one.judged, rank(one.metric))), key)
    return [(subject, host, list(group)) for (subject, host), group in groups]


def _table(found: list[CaseEntry]) -> Table:
    columns = ("case", "workload", "key", "definition", "series", "last_seen")
    return Table(
        columns,
        ((entry.name, entry.workload, entry.key, entry.definition, entry.series, entry.last_seen) for entry in found),
    )
