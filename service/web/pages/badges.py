"""Badges, with which other sites show results."""

from __future__ import annotations

from http import HTTPStatus

from flask import Response, jsonify, render_template
from flask.typing import ResponseReturnValue

from service.store import subjects
from service.store.events import events
from service.store.events.events import EventFilter
from service.web.app_resources import get_config, get_database
from service.web.charts.badge import Badge, build_events_badge, build_series_badge
from service.web.pages.error_pages import make_page_blueprint
from service.web.pages.series_chart import find_series
from service.web.problems import ProblemError
from service.web.rendering.escape_for_pages import escape_invisible_characters

bp = make_page_blueprint("sharing")


@bp.get("/series/<int:series_id>/badge.svg", defaults={"badge_format": "svg"})
@bp.get("/series/<int:series_id>/badge.json", defaults={"badge_format": "json"})
def series_level(series_id: int, badge_format: str) -> ResponseReturnValue:
    """Show the level of a series, and its last drift, as a badge."""
    return _render_badge(build_series_badge(find_series(series_id)), badge_format)


@bp.get("/subjects/<subject>/badge.svg", defaults={"badge_format": "svg"})
@bp.get("/subjects/<subject>/badge.json", defaults={"badge_format": "json"})
def open_events(subject: str, badge_format: str) -> ResponseReturnValue:
    """Show how many events of a subject wait for a decision, as a badge."""
    with get_database().reading() as session:
        if subjects.find_subject_entry(session, subject) is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no subject {escape_invisible_characters(subject)}.")
        open_filter = EventFilter(subject=subject, open=True)
        n_open = events.list_page(session, open_filter, 1, 0).total  # a page of one event: only the total is used
    return _render_badge(build_events_badge(n_open), badge_format)


def _render_badge(badge: Badge, badge_format: str) -> Response:
    """Return a badge as SVG, or as the JSON of shields.io."""
    if badge_format == "json":
        return _allow_other_sites(jsonify(badge.build_endpoint()))
    response = Response(render_template("badge.svg", badge=badge), mimetype="image/svg+xml")
    response.headers["Cache-Control"] = "no-cache"  # Otherwise the proxies of forges cache badges for hours.
    return _allow_other_sites(response)


def _allow_other_sites(response: Response) -> Response:
    """Let pages of other sites show a response, if the results of the service are public."""
    if get_config().anonymous_read:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
