"""A drift: what changed, why it is flagged, and how to reproduce it."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import abort, redirect, url_for
from sqlalchemy.orm import Session

from runner.contract.job import Job
from runner.contract.metrics import MetricView, list_shown_metrics
from service.pipeline.further_runs import FurtherRuns
from service.rules.access.scope import Scope
from service.rules.expected_runs import has_imported
from service.rules.series.sparkline import Sparkline
from service.schemas.history import Companion, Drift
from service.schemas.triage import EventSummary
from service.store import jobs
from service.store.events import events
from service.store.jobs import JobFilter
from service.store.runs import runs
from service.store.series import drifts, sparklines
from service.text import commands
from service.web.access import guard
from service.web.access.public_view import published
from service.web.current import database
from service.web.pages import evidence
from service.web.pages.bisect import bisects_about, proof_of
from service.web.pages.error_pages import page_blueprint
from service.web.rendering import forms
from service.web.rendering.formats import Page, page
from service.web.rendering.metric_order import rank
from service.web.rendering.tables import drift_table

bp = page_blueprint("drift", url_prefix="/drifts")

_MAX_JOBS = 100
_FIRST = list_shown_metrics(MetricView.DRIFT)


@page(bp, "/<drift_id>")
def show(drift_id: str) -> Page:
    """Show one drift."""
    with database().reading() as session:
        drift = drifts.find(session, drift_id)
        event = events.find_of_drift(session, drift_id)
        if drift is None and event is not None:
            # Later runs have moved the level or its place: the event says what has become of the drift.
            abort(redirect(url_for("event.show", event_id=event.id)))
        if drift is None:
            abort(404, "There is no such drift. Later runs may have shown another level.")
        before, after = (runs.report(session, run_id) for run_id in (drift.run_before, drift.run_after))
        imported = has_imported(before, after)
        sparkline = sparklines.read(session, [drift.series_id]).get(drift.series_id)
        searches = _searches(session, drift_id)
        doubt = FurtherRuns(session, datetime.now(UTC)).end_of_doubt(drift)
    if guard.is_anonymous():
        return _public_page(published(drift), published(event), sparkline, doubt)
    bisects = bisects_about(drift)
    return Page(
        "drift.html",
        {
            "drift": drift,
            "event": event,
            "author": forms.author(),
            "line": sparkline,
            "doubt": doubt,
            "searches": searches,
            "may_order": guard.caller().may(Scope.ORDER) and not imported,
            "imported": imported,
            "companions": _companions(drift),
            "commands": [commands.measure(report) for report in (before, after) if report and not imported],
            "setting_command": commands.settings(before, after)
            if drift.settings and before and after and not imported
            else "",
            **evidence.find_for_drift(drift, before, after),
            "bisects": bisects,
            "proof": proof_of(bisects, drift),
        },
        document=lambda: drift,
        table=lambda: drift_table([drift]),
    )


def _public_page(drift: Drift, event: EventSummary | None, line: Sparkline | None, doubt: str) -> Page:
    """Show a drift without what only concerns the hosts: commands, profiles, jobs."""
    return Page(
        "drift.html",
        {"drift": drift, "event": event, "line": line, "doubt": doubt, "companions": _companions(drift)},
        document=lambda: drift,
        table=lambda: drift_table([drift]),
    )


def _companions(drift: Drift) -> list[Companion]:
    return sorted(drift.companions, key=lambda other: (other.metric not in _FIRST, rank(other.metric)))


def _searches(session: Session, drift_id: str) -> list[Job]:
    """Return the open jobs that search for the commit of a drift."""
    open_searches = jobs.page(session, JobFilter(kind="bisect", open=True), _MAX_JOBS).items
    return [job for job in open_searches if getattr(job.question, "drift", None) == drift_id]
