"""Live pages: each page polls for news, and reloads itself when there is any.

A page contains a small element that htmx replaces with the answer of `/live`. The answer says how long to wait before
the next poll, so the service sets the pace: fast while somebody may be watching a measurement, and slower on a page on
which nothing has happened for half an hour. When successive polls all find news, as during a nightly run of many hosts,
the wait doubles each time: otherwise, a hundred open pages that keep reloading would use up all processors. If the
service does not answer, htmx polls again after ten seconds.
"""

from __future__ import annotations

from flask import Response, make_response, render_template, request

from service.store import page_versions
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.row_ids import MAX_ROW_ID

bp = make_page_blueprint("live")

_FAST, _SLOW = 1500, 5000
"""Milliseconds between two polls: usually, and on a page on which nothing has happened for long."""
_MAX_DOUBLINGS = 4
"""How often the wait can double while every poll finds news: it reaches 24 seconds."""
_FAST_POLLS = 1200
"""Successive polls without news after which the page polls slowly: they take half an hour."""


@bp.get("/live")
def answer_poll() -> Response:
    """Return the element for the next poll; if there is news, trigger the event that makes the page reload."""
    series_id, jobs = request.args.get("series", type=int), "jobs" in request.args
    n_quiet_polls = min(max(request.args.get("quiet", 0, int), 0), _FAST_POLLS)
    n_busy_polls = min(max(request.args.get("busy", 0, int), 0), _MAX_DOUBLINGS)
    state = read_current_state(series_id, jobs)
    has_changed = state != request.args.get("state")
    # Only one of the two counts continues: news resets the count of quiet polls, and a quiet poll that of busy polls.
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
    """Return a text that changes when anything new is stored: in one series or, if None, in any; optionally in jobs."""
    with get_database().reading() as session:
        if series_id is not None and 0 <= series_id <= MAX_ROW_ID:
            return page_versions.read_series_version(session, series_id)
        state = page_versions.read_global_version(session)
        return f"{state}.{page_versions.read_jobs_version(session)}" if jobs else state


def build_watcher(
    state: str, series_id: int | None = None, jobs: bool = False, *, quiet: int = 0, busy: int = 0
) -> str:
    """Return the element that makes the next poll.

    Parameters
    ----------
    state
        The present state, from :func:`read_current_state`: the next poll has news if the state differs then.
    series_id, jobs
        The series that the page shows, None for all series; and whether it shows jobs.
    quiet, busy
        The numbers of successive polls without news and with news, at least one of which is 0.
    """
    wait = _SLOW if quiet >= _FAST_POLLS else _FAST * 2 ** min(busy, _MAX_DOUBLINGS)
    query = {"state": state, "series": series_id, "jobs": 1 if jobs else None, "quiet": quiet, "busy": busy or None}
    return render_template("partials/page_polling.html", query=query, wait=wait)
