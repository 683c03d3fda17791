"""Live pages: each polls whether anything is new, and loads itself again where it is.

A page holds a small element that htmx replaces by the answer of `/live`. The answer says how long to wait before the
next poll, so the service sets the pace: fast while somebody may be watching a measurement, slower on a page on which
nothing has happened for long. Where the service does not answer, htmx polls again in ten seconds.
"""

from __future__ import annotations

from flask import Response, make_response, render_template, request

from service.store import change_tokens
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.row_ids import LARGEST

bp = page_blueprint("live")

_FAST, _SLOW = 1500, 5000
"""Milliseconds between two polls."""
_FAST_POLLS = 1200
"""Polls in a row without anything new after which the page polls slowly: half an hour."""


@bp.get("/live")
def ask() -> Response:
    """Return the next element to poll with; where anything is new, trigger an event that the page listens to."""
    series_id, jobs = request.args.get("series", type=int), "jobs" in request.args
    quiet = min(max(request.args.get("quiet", 0, int), 0), _FAST_POLLS)
    state = current_state(series_id, jobs)
    changed = state != request.args.get("state")
    response = make_response(watcher(state, series_id, jobs, 0 if changed else quiet + 1))
    if changed:
        response.headers["HX-Trigger"] = "faultwatch:changed"
    response.headers["Cache-Control"] = "no-store"
    return response


def current_state(series_id: int | None = None, jobs: bool = False) -> str:
    """Return a text that changes when anything new is stored: in one series, or in all; and in jobs, if asked."""
    with database().reading() as session:
        if series_id is not None and 0 <= series_id <= LARGEST:
            return change_tokens.of_series(session, series_id)
        state = change_tokens.of_everything(session)
        return f"{state}.{change_tokens.of_jobs(session)}" if jobs else state


def watcher(state: str, series_id: int | None = None, jobs: bool = False, quiet: int = 0) -> str:
    """Return the element that polls next."""
    wait = _FAST if quiet < _FAST_POLLS else _SLOW
    query = {"state": state, "series": series_id, "jobs": 1 if jobs else None, "quiet": quiet}
    return render_template("partials/live.html", query=query, wait=wait)
