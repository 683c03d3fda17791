"""Feeds of events, for feed readers and other programs."""

from __future__ import annotations

from flask import Blueprint, Response, request

from service.notify import atom_feed
from service.store.events import events
from service.store.events.events import EventFilter
from service.web.app_resources import get_database

bp = Blueprint("feeds", __name__, url_prefix="/feeds")

MAX_EVENTS = 100
"""Number of events in a feed."""


@bp.get("/events.atom")
def atom() -> Response:
    """Return the newest events that are still detected, of all subjects or of the requested one, as an Atom feed."""
    event_filter = EventFilter(subject=request.args.get("subject"), still_detected=True)
    with get_database().reading() as session:
        newest_events = events.list_page(session, event_filter, MAX_EVENTS, 0).items
    response = Response(
        atom_feed.build_feed(newest_events, request.url_root, request.full_path.rstrip("?")),
        mimetype=atom_feed.MEDIA_TYPE,
    )
    response.add_etag()
    response.make_conditional(request)
    return response
