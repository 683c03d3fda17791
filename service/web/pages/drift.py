"""A drift: what changed, why it is flagged, and how to reproduce it."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import abort, redirect, request, url_for
from sqlalchemy.orm import Session

from runner.contract.job import Job
from runner.contract.metrics import MetricView, list_shown_metrics
from service.pipeline.expected_further_runs import FurtherRuns
from service.rules.access.scope import Scope
from service.rules.imported_runs import has_imported
from service.rules.series.sparkline import Sparkline
from service.schemas.history import Companion, Drift
from service.schemas.triage import EventSummary
from service.store import jobs
from service.store.events import events
from service.store.jobs import JobFilter
from service.store.runs import runs
from service.store.series import drifts, sparklines
from service.text import commands_to_copy
from service.web.access import authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.pages import evidence
from service.web.pages.bisect import find_proof, list_bisects_about
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering import forms
from service.web.rendering.csv_tables import build_drift_table
from service.web.rendering.metric_order import rank_metric
from service.web.rendering.page_formats import Page, page

bp = make_page_blueprint("drift", url_prefix="/drifts")

_MAX_JOBS = 100
_FIRST_METRICS = list_shown_metrics(MetricView.DRIFT)


@page(bp, "/<drift_id>")
def show(drift_id: str) -> Page:
    """Show one drift."""
    # The drift, its event, and the runs on both sides.
    with get_database().reading() as session:
        drift = drifts.find_drift(session, drift_id)
        event = events.find_event_of_drift(session, drift_id)
        if drift is None and event is not None:
            # Later runs have moved the drift, so that its id has changed: the event has the present drift.
            # The endpoints of both pages have the same endings for JSON and CSV.
            ending = (request.endpoint or "").removeprefix("drift.show")
            abort(redirect(url_for(f"event.show{ending}", event_id=event.id)))
        if drift is None:
            abort(404, "There is no such drift. If there was one, later runs no longer show it.")
        before, after = runs.find_report(session, drift.run_before), runs.find_report(session, drift.run_after)
        is_imported = has_imported(before, after)
        sparkline = sparklines.read_sparklines(session, [drift.series_id]).get(drift.series_id)
        searches = _list_open_searches(session, drift_id)
        doubt = FurtherRuns(session, datetime.now(UTC)).describe_end_of_doubt(drift)
    if authorization.is_anonymous():
        return _build_public_page(redact_view_for_caller(drift), redact_view_for_caller(event), sparkline, doubt)
    bisects = list_bisects_about(drift)
    setting_command = ""
    if drift.settings and before and after and not is_imported:
        setting_command = commands_to_copy.build_settings_command(before, after)
    return Page(
        "drift.html",
        {
            "drift": drift,
            "event": event,
            "author": forms.find_likely_author(),
            "line": sparkline,
            "doubt": doubt,
            "searches": searches,
            "may_order": authorization.find_caller().may(Scope.ORDER) and not is_imported,
            "imported": is_imported,
            "companions": _sort_companions(drift),
            "commands": [
                commands_to_copy.build_measure_command(report)
                for report in (before, after)
                if report and not is_imported
            ],
            "setting_command": setting_command,
            **evidence.find_drift_profiles(drift, before, after),
            "bisects": bisects,
            "proof": find_proof(bisects, drift),
        },
        document=lambda: drift,
        table=lambda: build_drift_table([drift]),
    )


def _build_public_page(drift: Drift, event: EventSummary | None, line: Sparkline | None, doubt: str) -> Page:
    """Show a drift without what concerns only the hosts: commands, profiles and jobs."""
    return Page(
        "drift.html",
        {"drift": drift, "event": event, "line": line, "doubt": doubt, "companions": _sort_companions(drift)},
        document=lambda: drift,
        table=lambda: build_drift_table([drift]),
    )


def _sort_companions(drift: Drift) -> list[Companion]:
    """Return the other metrics that changed with a drift: first those that a drift always shows, then the others."""
    return sorted(drift.companions, key=lambda other: (other.metric not in _FIRST_METRICS, rank_metric(other.metric)))


def _list_open_searches(session: Session, drift_id: str) -> list[Job]:
    """Return the open bisects of a drift."""
    open_searches = jobs.list_page(session, JobFilter(kind="bisect", open=True), _MAX_JOBS).items
    return [job for job in open_searches if getattr(job.question, "drift", None) == drift_id]
