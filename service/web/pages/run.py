"""A run: every number with its unit and definition, and all that is needed to doubt it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from flask import Blueprint, abort, request

from runner.contract import Metric, Outcome, Reading, Report, Status, metric
from service.rules.series.levels import Level, level
from service.store import runs
from service.store.runs import RunFilter
from service.text import commands
from service.web.current import database
from service.web.pages.source import source
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import run_table, sample_table

bp = Blueprint("run", __name__)

_LISTED = 100
_SAMPLES = 25
"""How many samples the page shows one by one. The pyperf file holds all."""
_WORDS = {Status.NOT_SUPPORTED: "not supported", Status.NOT_COUNTED: "not counted", Status.MULTIPLEXED: "multiplexed"}


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric over the samples of a run."""

    metric: Metric
    level: Level
    notes: tuple[str, ...]
    """What is not plain about it, in words."""


@page(bp, "/runs")
def listed() -> Page:
    """List runs, the newest first: all, or those of a commit, case, host or outcome."""
    asked = {name: request.args.get(name, "").strip() for name in ("subject", "case", "revision", "host")}
    outcome = request.args.get("outcome", "")
    wanted = RunFilter(
        **{name: value or None for name, value in asked.items()},
        outcome=Outcome(outcome) if outcome in set(Outcome) else None,
        quarantined=True if "quarantined" in request.args else None,
    )
    offset = min(max(request.args.get("offset", 0, int), 0), 2**31)
    with database().reading() as session:
        found = runs.page(session, wanted, _LISTED, offset)
    return Page(
        "runs.html",
        {"runs": found, "asked": {**asked, "outcome": wanted.outcome or ""}, "outcomes": list(Outcome)},
        document=lambda: found,
        table=lambda: run_table(found.items),
    )


@page(bp, "/runs/<uuid:run_id>")
def show(run_id: UUID) -> Page:
    """Show one run."""
    report = source().run(run_id)
    if report is None:
        abort(404, "There is no such run. It may belong to another Faultwatch service, or wait in a runner's spool.")
    return Page(
        "run.html",
        {
            "report": report,
            "figures": [_figure(report, name) for name in sorted(report.metrics, key=rank)],
            "series": source().series_of(report),
            "samples": report.samples[:_SAMPLES],
            "command": commands.measure(report),
        },
        document=lambda: report,
        table=lambda: sample_table(report),
    )


def _figure(report: Report, name: str) -> Figure:
    readings = report.readings(name)
    return Figure(metric(name), level(readings), tuple(dict.fromkeys(_notes(readings))))


def _notes(readings: Iterable[Reading]) -> Iterable[str]:
    for reading in readings:
        word = _WORDS.get(reading.status)
        if word is None:
            continue
        if reading.running_percent is not None:
            word += f", an estimate from {reading.running_percent:g} % of the run"
        yield f"{word}: {reading.reason}" if reading.reason else word
