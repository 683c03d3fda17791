"""What other sites show of the results: the chart of a series as a picture or in a frame, and badges."""

from __future__ import annotations

import os
from http import HTTPStatus

from flask import Response, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from service.store import events, subjects
from service.store.events import EventFilter
from service.web.charts import picture
from service.web.charts.badge import Badge, events_badge, series_badge
from service.web.charts.picture import Format, View
from service.web.charts.trend import shares
from service.web.current import config, database
from service.web.pages.drawn_series import by_time, draw, find_series, overlaid, requested_window
from service.web.pages.error_pages import page_blueprint
from service.web.problems import ProblemError
from service.web.rendering import not_modified
from service.web.rendering.visible_text import visible

bp = page_blueprint("sharing")

_TYPES: dict[Format, str] = {"svg": "image/svg+xml", "png": "image/png"}
_FRAMES = "default-src 'self'; base-uri 'none'; form-action 'none'; object-src 'none'; frame-ancestors "


@bp.get("/series/<int:series_id>.svg", defaults={"format_": "svg"})
@bp.get("/series/<int:series_id>.png", defaults={"format_": "png"})
def series_picture(series_id: int, format_: Format) -> ResponseReturnValue:
    """Draw the chart of a series as its page does, with the same parameters in the address.

    ``width`` and ``height`` are in pixels; ``theme`` is ``light`` or ``dark``.
    """
    etag = not_modified.current_etag()
    if unchanged := not_modified.unchanged(etag):
        return _for_other_sites(unchanged)
    series = find_series(series_id)
    view = View(
        window=requested_window(),
        by_time=by_time(),
        logarithmic=request.args.get("y") == "log",
        dark=request.args.get("theme") == "dark",
        width=_pixels("width", 900),
        height=_pixels("height", 420),
    )
    # The cache of fonts: not every service may write to a home folder.
    os.environ.setdefault("MPLCONFIGDIR", str(config().home / "matplotlib"))
    heading = visible(f"{series.title} of {series.case} on {series.host}")
    chart = draw(series, overlaid(series), view.window)
    if chart["others"] and request.args.get("as") != "values":
        chart = shares(chart)
    drawn = picture.draw(chart, heading, view, format_)
    return _for_other_sites(not_modified.cacheable(Response(drawn, mimetype=_TYPES[format_]), etag))


@bp.get("/embed/series/<int:series_id>")
def series_frame(series_id: int) -> ResponseReturnValue:
    """Show the chart of a series alone, in a frame of a site that the service allows."""
    query = request.query_string.decode("ascii", "replace")
    response = Response(render_template("embed.html", series=find_series(series_id), query=query))
    sites = " ".join(config().embedding_sites) or "'none'"
    response.headers["Content-Security-Policy"] = _FRAMES + sites
    return _for_other_sites(response)


@bp.get("/series/<int:series_id>/badge.svg", defaults={"format_": "svg"})
@bp.get("/series/<int:series_id>/badge.json", defaults={"format_": "json"})
def series_level(series_id: int, format_: str) -> ResponseReturnValue:
    """Show the level of a series, and its last drift, as a badge."""
    return _badge(series_badge(find_series(series_id)), format_)


@bp.get("/subjects/<subject>/badge.svg", defaults={"format_": "svg"})
@bp.get("/subjects/<subject>/badge.json", defaults={"format_": "json"})
def open_events(subject: str, format_: str) -> ResponseReturnValue:
    """Show how many events of a subject wait for a decision, as a badge."""
    with database().reading() as session:
        if subjects.entry(session, subject) is None:
            raise ProblemError(HTTPStatus.NOT_FOUND, f"There is no subject {visible(subject)}.")
        waiting = events.page(session, EventFilter(subject=subject, open=True), 1, 0).total
    return _badge(events_badge(waiting), format_)


def _badge(badge: Badge, format_: str) -> Response:
    if format_ == "json":
        return _for_other_sites(jsonify(badge.endpoint()))
    response = Response(render_template("badge.svg", badge=badge), mimetype=_TYPES["svg"])
    response.headers["Cache-Control"] = "no-cache"  # Proxies of forges store badges for hours otherwise.
    return _for_other_sites(response)


def _for_other_sites(response: Response) -> Response:
    """Let pages of other sites show a response, where the service has public results or names such sites."""
    if config().anonymous_read or config().embedding_sites:
        response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response


def _pixels(name: str, default: int) -> int:
    pixels = request.args.get(name, default, type=int)
    return min(max(pixels, picture.SMALLEST), picture.LARGEST)
