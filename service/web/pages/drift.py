"""A drift: what changed, why we say so, and how to see it again."""

from __future__ import annotations

from flask import Blueprint, abort

from runner.contract.job import Job
from service.rules.access.scope import Scope
from service.store import jobs
from service.store.jobs import JobFilter
from service.text import commands
from service.web.access import guard
from service.web.charts.sparkline import sparkline
from service.web.current import database
from service.web.pages import evidence
from service.web.pages.bisect import bisects_about
from service.web.pages.source import source
from service.web.rendering import forms
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import drift_table

bp = Blueprint("drift", __name__, url_prefix="/drifts")

_JOBS = 100
_FIRST = {"sys-percent", "throughput"}
"""What faults cost, before everything else that was measured."""


@page(bp, "/<drift_id>")
def show(drift_id: str) -> Page:
    """Show one drift."""
    drift = source().drift(drift_id)
    if drift is None:
        abort(404, "There is no such drift. Runs that came later may have shown another level.")
    event = source().event_of(drift_id)
    sides = [source().run(run_id) for run_id in (drift.run_before, drift.run_after)]
    return Page(
        "drift.html",
        {
            "drift": drift,
            "event": event,
            "author": forms.author(),
            "line": sparkline(source().outlines([drift.series_id]).get(drift.series_id)),
            "searches": _searches(drift_id),
            "may_order": guard.caller().may(Scope.ORDER),
            "companions": sorted(drift.companions, key=lambda other: (other.metric not in _FIRST, rank(other.metric))),
            "commands": [commands.measure(report) for report in sides if report],
            "knob_command": commands.knobs(sides[0], sides[1]) if drift.knobs and sides[0] and sides[1] else "",
            **evidence.of_drift(drift, sides[0], sides[1]),
            "bisects": bisects_about(drift),
        },
        document=lambda: drift,
        table=lambda: drift_table([drift]),
    )


def _searches(drift_id: str) -> list[Job]:
    """Return the jobs that look for the commit of a drift now."""
    with database().reading() as session:
        found = jobs.page(session, JobFilter(kind="bisect", open=True), _JOBS).items
    return [job for job in found if getattr(job.question, "drift", None) == drift_id]
