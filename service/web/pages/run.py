"""The list of runs, and the page of a run: all values with their units and definitions, and how to check them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from uuid import UUID

from flask import abort, request
from sqlalchemy.orm import Session

from runner.contract import Metric, Outcome, Reading, Report, Status, get_metric
from runner.contract.number_text import format_quantity
from service.pipeline import unmeasured_commit
from service.rules.access.scope import Scope
from service.rules.imported_runs import has_imported
from service.rules.series.run_level import RunLevel, compute_run_level
from service.store.revisions import named_commits
from service.store.runs import runs
from service.store.runs.runs import RunFilter
from service.store.series import series
from service.store.series.series import SeriesFilter
from service.text import commands_to_copy
from service.web.access import authorization
from service.web.app_resources import get_database
from service.web.charts.window_picture import draw_windows
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.csv_tables import build_run_table, build_sample_table
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, page, read_offset

bp = make_page_blueprint("run")

_MAX_LISTED_RUNS = 100
_MAX_SAMPLES = 25
"""Largest number of samples on the page; the pyperf file contains all of them."""
_STATUS_WORDS = {
    Status.NOT_SUPPORTED: "not supported",
    Status.NOT_COUNTED: "not counted",
    Status.MULTIPLEXED: "multiplexed",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric over the samples of a run."""

    metric: Metric
    level: RunLevel
    notes: tuple[str, ...]
    """The reasons why a value is missing or estimated."""


@page(bp, "/runs")
def index() -> Page:
    """List runs, the newest first: all, or only those of a commit, case, host or outcome."""
    names = {name: request.args.get(name, "").strip() for name in ("subject", "case", "revision", "host")}
    outcome = request.args.get("outcome", "")
    run_filter = RunFilter(
        **{name: value or None for name, value in names.items()},
        outcome=Outcome(outcome) if outcome in set(Outcome) else None,
        quarantined=True if "quarantined" in request.args else None,
    )
    offset = read_offset()
    with get_database().reading() as session:
        revision, subject = names["revision"], names["subject"] or None
        commits = named_commits.find_commits(session, revision, subject) if revision else []
        if len(commits) == 1:  # The text is a tag, a date or a part of a hash.
            run_filter = replace(run_filter, revision=commits[0].commit)
        first_commit = "" if commits else named_commits.describe_first_commit(session, revision, subject)
        listed_runs = runs.list_page(session, run_filter, _MAX_LISTED_RUNS, offset)
        commit_without_runs = None
        if len(commits) == 1 and not listed_runs.total:
            commit_without_runs = unmeasured_commit.find_unmeasured_commit(session, commits[0])
    return Page(
        "runs.html",
        {
            "runs": listed_runs,
            "query": {**names, "outcome": run_filter.outcome or "", "quarantined": "quarantined" in request.args},
            "outcomes": list(Outcome),
            "unmeasured": commit_without_runs,
            "named": commits,
            "first_commit": first_commit,
            "may_measure": authorization.find_caller().may(Scope.ORDER),
            "author": forms.find_likely_author(),
        },
        document=lambda: listed_runs,
        table=lambda: build_run_table(listed_runs.items),
    )


@page(bp, "/runs/<uuid:run_id>")
def show(run_id: UUID) -> Page:
    """Show one run."""
    with get_database().reading() as session:
        report = runs.find_report(session, run_id)
        series_ids = _map_series_ids(session, report) if report else {}
    if report is None:
        abort(
            404, "There is no such run. It may belong to another Faultwatch service, or still be in a runner's spool."
        )
    return Page(
        "run.html",
        {
            "report": report,
            "figures": [_build_figure(report, name) for name in sorted(report.metrics, key=rank_metric)],
            "series": series_ids,
            "windows": draw_windows(report.samples, report.environment.settings),
            "samples": report.samples[:_MAX_SAMPLES],
            "command": "" if has_imported(report) else commands_to_copy.build_measure_command(report),
            "imported": has_imported(report),
        },
        document=lambda: report,
        table=lambda: build_sample_table(report),
    )


def _map_series_ids(session: Session, report: Report) -> dict[str, int]:
    """Return the id of each metric's series, by metric, for a run."""
    case_filter = SeriesFilter(subject=report.subject, case=report.case.name, host=report.host.name)
    summaries = series.list_page(session, case_filter).items
    return {summary.metric: summary.id for summary in summaries if summary.definition == report.case.definition}


def _build_figure(report: Report, metric: str) -> Figure:
    readings = report.list_readings(metric)
    return Figure(get_metric(metric), compute_run_level(readings), tuple(dict.fromkeys(_describe_readings(readings))))


def _describe_readings(readings: Iterable[Reading]) -> Iterable[str]:
    """Yield the reasons, in words, why readings have no exact value."""
    for reading in readings:
        word = _STATUS_WORDS.get(reading.status)
        if word is None:
            continue
        if reading.running_percent is not None:
            word += f", an estimate from {format_quantity(reading.running_percent, '%')} of the run"
        yield f"{word}: {reading.reason}" if reading.reason else word
