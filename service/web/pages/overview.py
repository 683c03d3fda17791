"""The overview: what moved, where everything stands, and what could not be measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from flask import Blueprint

from runner.contract import Case
from service.schemas.history import RunSummary, SeriesSummary
from service.store import jobs
from service.store.jobs import JobFilter
from service.store.shared_rows import case_key
from service.web.charts.sparkline import sparkline
from service.web.current import database
from service.web.pages.events import events
from service.web.pages.source import source
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import drift_table

bp = Blueprint("overview", __name__)

_JOBS = 10


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The judged series of one case."""

    subject: str
    host: str
    case: str
    case_key: str
    series: tuple[SeriesSummary, ...]


@page(bp, "/", twins="/overview")
def show() -> Page:
    """Show the overview."""
    drifts = source().drifts()
    told = events(drifts.items)
    decided, n_decided = source().decided()
    series, total = source().judged()
    failures, quarantined = source().failures(), source().quarantined()
    outlines = source().outlines([*(event.largest.series_id for event in told), *(one.id for one in series)])
    hosts, activity = source().hosts(), source().activity()
    with database().reading() as session:
        open_jobs = jobs.page(session, JobFilter(open=True), _JOBS)
    return Page(
        "overview.html",
        {
            "drifts": drifts,
            "events": told,
            "decided": decided,
            "n_decided": n_decided,
            "lines": {series_id: sparkline(drawn) for series_id, drawn in outlines.items()},
            "cases": _cases(series),
            "flagged": {series_id: len(drawn.flagged) for series_id, drawn in outlines.items()},
            "total": total,
            "failures": _by_revision(failures),
            "quarantined": quarantined,
            "hosts": hosts,
            "activity": activity,
            "jobs": open_jobs,
        },
        document=lambda: {
            "drifts": drifts.items,
            "series": series,
            "not_measured": failures,
            "quarantined": quarantined,
            "hosts": hosts,
            "activity": activity,
            "jobs": open_jobs.items,
        },
        table=lambda: drift_table(drifts.items),
    )


def _cases(series: Iterable[SeriesSummary]) -> list[CaseTable]:
    def key(one: SeriesSummary) -> tuple[str, str, str, str]:
        return one.subject, one.host, one.case, one.definition

    tables = []
    for (subject, host, case, _), group in groupby(sorted(series, key=lambda one: (key(one), rank(one.metric))), key):
        found = tuple(group)
        key_of = case_key(Case(**found[0].model_dump(include={"workload", "definition", "parameters"})))
        tables.append(CaseTable(subject, host, case, key_of, found))
    return tables


def _by_revision(failures: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """Put the cases that failed at one revision together: a build that breaks, breaks for all of them."""
    groups: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in failures:
        message = run.failure.message if run.failure else ""
        groups.setdefault((run.subject, run.revision, message), []).append(run)
    return list(groups.values())
