"""Pages that follow what is measured: they ask whether anything is new, and fetch themselves again where it is.

A page holds a small element that htmx exchanges for the answer of this address. The answer says how long to wait before
the next question, so the pace is the service's: quick while somebody may be watching a measurement, slower on a page
that nothing happened on for long. Where the service does not answer, htmx asks again in ten seconds.
"""

from __future__ import annotations

from flask import Response, make_response, render_template, request

from service.store import overview
from service.web.current import database
from service.web.pages.error_pages import page_blueprint
from service.web.row_ids import LARGEST

bp = page_blueprint("live")

_QUICK, _SLOW = 1500, 5000
"""Milliseconds between two questions."""
_PATIENCE = 1200
"""Questions in a row that found nothing new before the pace is slower: half an hour."""


@bp.get("/live")
def ask() -> Response:
    """Answer whether anything is new, by an event that the page listens to."""
    series_id, jobs = request.args.get("series", type=int), "jobs" in request.args
    quiet = min(max(request.args.get("quiet", 0, int), 0), _PATIENCE)
    state = current_state(series_id, jobs)
    changed = state != request.args.get("state")
    response = make_response(watcher(state, series_id, jobs, 0 if changed else quiet + 1))
    if changed:
        response.headers["HX-Trigger"] = "faultwatch:changed"
    response.headers["Cache-Control"] = "no-store"
    return response


def current_state(series_id: int | None = None, jobs: bool = False) -> str:
    """Return a text that is another one where anything new is stored: of one series, or of all; and of jobs."""
    with database().reading() as session:
        if series_id is not None and 0 <= series_id <= LARGEST:
            return overview.series_state(session, series_id)
        state = overview.state(session)
        return f"{state}.{overview.jobs_state(session)}" if jobs else state


def watcher(state: str, series_id: int | None = None, jobs: bool = False, quiet: int = 0) -> str:
    """Return the element that asks the next question."""
    wait = _QUICK if quiet < _PATIENCE else _SLOW
    asked = {"state": state, "series": series_id, "jobs": 1 if jobs else None, "quiet": quiet}
    return render_template("partials/live.html", asked=asked, wait=wait)
