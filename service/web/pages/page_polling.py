"""Live pages: each polls whether anything is new, and loads itself again where it is.

A page holds a small element that htmx replaces by the answer of `/live`. The answer says how long to wait before the
next poll, so the service sets the pace: fast while somebody may be watching a measurement, slower on a page on which
nothing has happened for long. While each poll finds something new, as in a nightly run of many hosts, each waits twice
as long as the one before: a hundred open pages that load themselves again all the time would take all processors. Where
the service does not answer, htmx polls again in ten seconds.
"""

from __future__ import annotations

from flask import Response, make_response, render_template, request

from service.store import page_versions
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.row_ids import MAX_ROW_ID

bp = make_page_blueprint("live")

_FAST, _SLOW = 1500, 5000
"""Milliseconds between two polls: usually, and where nothing happens for long."""
_MAX_DOUBLINGS = 4
"""How many times the wait doubles at most while there is always something new: up to 24 seconds."""
_FAST_POLLS = 1200
"""Successive polls without anything new after which the page polls slowly: half an hour."""


@bp.get("/live")
def ask() -> Response:
    """Return the next element to poll with; if there is news, trigger an event that the page listens to."""
    series_id, jobs = request.args.get("series", type=int), "jobs" in request.args
    n_quiet_polls = min(max(request.args.get("quiet", 0, int), 0), _FAST_POLLS)
    n_busy_polls = min(max(request.args.get("busy", 0, int), 0), _MAX_DOUBLINGS)
    state = read_current_state(series_id, jobs)
    has_changed = state != request.args.get("state")
    # News ends a succession of quiet polls, and a quiet poll one of polls with news: the other count is zero.
    if has_changed:
        watcher = build_watcher(state, series_id, jobs, busy=n_busy_polls + 1)
    else:
        watcher = build_watcher(state, series_id, jobs, quiet=n_quiet_polls + 1)
    response = make_response(watcher)
    if has_changed:
        response.headers["HX-Trigger"] = "faultwatch:changed"
    response.headers["Cache-Control"] = "no-store"
    return response


def read_current_state(series_id: int | None = None, jobs: bool = False) -> str:
    """Return a text that changes when anything new is stored: in one series, or in all; and in jobs, if asked."""
    with get_database().reading() as session:
        if series_id is not None and 0 <= series_id <= MAX_ROW_ID:
            return page_versions.read_series_token(session, series_id)
        state = page_versions.read_global_token(session)
        return f"{state}.{page_versions.read_jobs_token(session)}" if jobs else state


def build_watcher(
    state: str, series_id: int | None = None, jobs: bool = False, *, quiet: int = 0, busy: int = 0
) -> str:
    """Return the element that polls next.

    Parameters
    ----------
    state
        What is stored now, by :func:`read_current_state`: the next poll has news if it differs.
    series_id, jobs
        What the page shows: one series or, if None, all; and whether it shows jobs.
    quiet, busy
        The number of successive polls without news, and with news: at least one of them is 0.
    """
    wait = _SLOW if quiet >= _FAST_POLLS else _FAST * 2 ** min(busy, _MAX_DOUBLINGS)
    query = {"state": state, "series": series_id, "jobs": 1 if jobs else None, "quiet": quiet, "busy": busy or None}
    return render_template("partials/page_polling.html", query=query, wait=wait)
