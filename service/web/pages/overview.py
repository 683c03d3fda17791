"""The first page: what moved since the reader's last visit, what is being measured, and what could not be measured."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from flask import request
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.schemas.history import Drift, RunSummary
from service.store import hosts, jobs, overview
from service.store.jobs import JobFilter
from service.store.runs import runs
from service.store.runs.runs import RunFilter
from service.web.access import authorization
from service.web.access.public_view import redact_view_for_caller
from service.web.app_resources import get_database
from service.web.charts.drift_map import SMALL_SIZE
from service.web.pages import drift_map, inbox
from service.web.pages.error_pages import make_page_blueprint
from service.web.pages.inbox import Inbox
from service.web.rendering.page_formats import Page, page

bp = make_page_blueprint("overview")

EVENTS_PER_PAGE = 25
"""Events on one page."""
_MAX_LISTED_DRIFTS = 60
"""Number of open drifts in the JSON format."""
_MAX_SERIES = 40
"""Number of judged series in the JSON format."""
_MAX_FAILURES = 50
_MAX_SHOWN_FAILURES = 10
_MAX_JOBS = 10
_ACTIVE_TIME = timedelta(minutes=10)
"""How long after the start of its newest run a host counts as measuring."""


@page(bp, "/", formats_rule="/overview")
def show() -> Page:
    """Show the first page."""
    return build_page(inbox.read_inbox(request.args, path="/", since=inbox.VISIT, limit=EVENTS_PER_PAGE))


def build_page(event_list: Inbox, **context: object) -> Page:
    """Return the first page with a list of events."""
    # The rest of the page.
    with get_database().reading() as session:
        n_judged = overview.count_judged_series(session)
        failures = _list_failures(session)
        quarantined_runs = runs.list_newest_quarantined_runs(session)
        all_hosts = hosts.list_hosts(session)
        activity = overview.read_activity(session, datetime.now(UTC) - _ACTIVE_TIME)
        open_jobs = jobs.list_page(session, JobFilter(open=True), _MAX_JOBS)
    # Readers without a token may not see hosts and jobs.
    if authorization.is_anonymous():
        all_hosts, activity, quarantined_runs = [], [], []
        open_jobs = open_jobs.model_copy(update={"items": (), "total": 0})
        failures = redact_view_for_caller(failures)
    failure_groups = _group_failures_by_revision(failures)
    # The map has a picture of each subject, but follows no other filter of the list; the page says so.
    subject = event_list.query.subject
    map_subject = subject if subject in dict(event_list.choices["subject"]) else ""
    return Page(
        "overview.html",
        inbox.build_context(
            event_list,
            n_series=n_judged,
            failures=failure_groups[:_MAX_SHOWN_FAILURES],
            n_failures=len(failure_groups),
            quarantined=quarantined_runs,
            hosts=all_hosts,
            activity=activity,
            jobs=open_jobs,
            map=drift_map.read_drawn_map(map_subject or None, SMALL_SIZE),
            map_subject=map_subject,
            **context,
        ),
        document=lambda: {
            "events": event_list.events.items,
            "drifts": _list_open_drifts(),
            "series": _list_judged_series(),
            "not_measured": failures,
            "quarantined": quarantined_runs,
            "hosts": all_hosts,
            "activity": activity,
            "jobs": open_jobs.items,
        },
        table=lambda: inbox.build_table(request.args, path="/", since=inbox.VISIT),
    )


def _list_judged_series() -> object:
    with get_database().reading() as session:
        judged_series, _total = overview.list_judged_series(session, _MAX_SERIES)
    return judged_series


def _list_open_drifts() -> Sequence[Drift]:
    with get_database().reading() as session:
        return redact_view_for_caller(overview.list_open_drifts(session, _MAX_LISTED_DRIFTS).items)


def _list_failures(session: Session) -> list[RunSummary]:
    """Return the newest runs that measured nothing, unless the case was measured at that revision afterwards."""
    newest_failures = [
        run
        for outcome in (Outcome.FAILED, Outcome.SKIPPED)
        for run in runs.list_page(session, RunFilter(outcome=outcome), _MAX_FAILURES, 0).items
    ]
    failures = [run for run in newest_failures if not _is_measured(session, run)]
    return sorted(failures, key=lambda run: run.started_at, reverse=True)


def _is_measured(session: Session, run: RunSummary) -> bool:
    """Return whether the case of a run has been measured at its revision."""
    measured_filter = RunFilter(
        subject=run.subject, case=run.case, revision=run.revision, outcome=Outcome.MEASURED, quarantined=False
    )
    return runs.list_page(session, measured_filter, 1, 0).total > 0


def _group_failures_by_revision(failures: Iterable[RunSummary]) -> list[list[RunSummary]]:
    """Group failures with the same revision and message: a broken build fails for all cases at once."""
    groups: dict[tuple[str, str, str], list[RunSummary]] = {}
    for run in failures:
        message = run.failure.message if run.failure else ""
        groups.setdefault((run.subject, run.revision, message), []).append(run)
    return list(groups.values())
