"""The overview: the open events, where everything stands, and what could not be measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from sqlalchemy.orm import Session

from runner.contract import Case, Outcome
from service.schemas.history import Drift, RunSummary, SeriesSummary
from service.schemas.triage import EventSummary
from service.store import events, hosts, jobs, outlines, overview, runs
from service.store.events import EventFilter
from service.store.jobs import JobFilter
from service.store.runs import RunFilter
from service.store.shared_rows import case_key
from service.web.access import guard
from service.web.access.public_view import published
from service.web.charts.sparkline import sparkline
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import drift_table

bp = page_blueprint("overview")

_OPEN = 50
"""Open events that are shown."""
_SETTLED = 10
"""Settled events that are shown."""
_DRIFTS = 6
"""Drifts of an event that are shown; the page of the event lists all."""
_LISTED_DRIFTS = 60
"""Open drifts in the JSON and CSV formats."""
_SERIES = 40
_FAILURES = 50
_JOBS = 10
_ACTIVE = timedelta(minutes=10)
"""How long after its newest run a host still counts as measuring."""


@dataclass(frozen=True, slots=True)
class EventRow:
    """A stored event with its leading drifts; none, where no drift of it is found any more."""

    event: EventSummary
    drifts: list[Drift]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """The judged series of one case."""

    subject: str
    host: str
    case: str
    case_key: str
    series: tuple[SeriesSummary, ...]


@page(bp, "/", formats_rule="/overview")
def show() -> Page:
    """Show the overview."""
    with database().reading() as session:
        open_events = events.page(session, EventFilter(open=True), _OPEN, 0)
        settled = events.page(session, EventFilter(open=False, found=True), _SETTLED, 0)
        leading = overview.leading_drifts(
            session, [event.id for event in (*open_events.items, *settled.items)], _DRIFTS
        )
        series, n_series = overview.judged(session, _SERIES)
        failures, quarantined = _failures(session), runs.quarantined_hosts(session)
        with_sparkline = [leading[event.id][0].series_id for event in open_events.items if leading[event.id]]
        drawn = outlines.read(session, [*with_sparkline, *(summary.id for summary in series)])
        all_hosts, activity = hosts.listed(session), overview.activity(session, datetime.now(UTC) - _ACTIVE)
        open_jobs = jobs.page(session, JobFilter(open=True), _JOBS)
    if guard.is_anonymous():
        all_hosts, activity, quarantined = [], [], []
        open_jobs = open_jobs.model_copy(update={"items": (), "total": 0})
        open_events, settled, failures = published(open_events), published(settled), published(failures)
    return Page(
        "overview.html",
        {
            "open_events": open_events,
            "open_rows": [EventRow(event, leading[event.id]) for event in open_events.items],
            "settled": settled,
            "settled_rows": [EventRow(event, leading[event.id]) for event in settled.items],
            "sparklines": {series_id: sparkline(outline) for series_id, outline in drawn.items()},
            "cases": _cases(series),
            "flagged": {series_id: len(outline.flagged) for series_id, outline in drawn.items()},
            "n_series": n_series,
            "failures": _by_revision(failures),
            "quarantined": quarantined,
            "hosts": all_hosts,
            "activity": activity,
            "jobs": open_jobs,
        },
        document=lambda: {
            "events": open_events.items,
            "drifts": _open_drifts(),
            "series": series,
            "not_measured": failures,
            "quarantined": quarantined,
            "hosts": all_hosts,
            "activity": activity,
            "jobs": open_jobs.items,
        },
        table=lambda: drift_table(_open_drifts()),
    )


def _open_drifts() -> list[Drift]:
    with database().reading() as session:
        return published(overview.open_drifts(session, _LISTED_DRIFTS).items)


def _failures(session: Session) -> list[RunSummary]:
    """Return the newest runs that measured nothing, unless the case was measured at that revision afterwards."""
    newest = [
        run
        for outcome in (Outcome.FAILED, Outcome.SKIPPED)
        for run in runs.page(session, RunFilter(outcome=outcome), _FAILURES, 0).items
    ]
    failures = [run for run in newest if not _is_measured(session, run)]
    return sorted(failures, key=lambda run: run.started_at, reverse=True)


def _is_measured(session: Session, run: RunSummary) -> bool:
    measured = RunFilter(
        subject=run.subject, case=run.case, revision=run.revision, outcome=Outcome.MEASURED, quarantined=False
    )
    return runs.page(session, measured, 1, 0).total > 0


def _cases(series: Iterable[SeriesSummary]) -> list[CaseTable]:
    def case(summary: SeriesSummary) -> tuple[str, str, str, str]:
        return summary.subject, summary.host, summary.case, summary.definition

    def order(summary: SeriesSummary) -> tuple[Any, ...]:
        return case(summary), rank(summary.metric)

    tables = []
    for (subject, host, name, _), group in groupby(sorted(series, key=order), case):
        summaries = tuple(group)
        key = case_key(Case(**summaries[0].model_dump(include={"workload", "definition", "parameters"})))
        tables.append(CaseTable(subject, host, name, key, summaries))
    return tables


def _by_revision(failures: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """Put the cases that failed at one revision together: a build that breaks, breaks for all of them."""
    groups: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in failures:
        message = run.failure.message if run.failure else ""
        groups.setdefault((run.subject, run.revision, message), []).append(run)
    return list(groups.values())
