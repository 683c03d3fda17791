"""The present visit of the reader of this request, stored with the token, or without a token in the signed cookie."""

from __future__ import annotations

from datetime import datetime

from flask import request, session

from service.rules.events.visit import Visit, find_visit_at
from service.store import tokens
from service.web.access import authorization
from service.web.app_resources import get_database

SINCE, SEEN_AT = "inbox-since", "inbox-seen"
"""Keys in the cookie. No page depends on SEEN_AT, which changes during a visit."""


def find_current_visit(now: datetime) -> Visit:
    """Return the visit to which this request belongs, and store it if it changed.

    A page that reloads itself does not extend the visit, because perhaps nobody is looking.
    """
    token = authorization.find_caller().token_id if authorization.requires_tokens() else None
    with get_database().reading() as store:
        stored_visit = tokens.find_visit(store, token) if token else _read_cookie()
    # htmx sends this header when a page reloads itself.
    if "HX-Request" in request.headers or request.method != "GET":
        return stored_visit or Visit(None, now)
    visit = find_visit_at(stored_visit, now)
    if visit == stored_visit:
        return visit
    if token:
        with get_database().writing() as store:
            tokens.store_visit(store, token, visit)
    else:
        session.permanent = True
        session[SEEN_AT] = visit.seen_at.isoformat()
        if visit.since:
            session[SINCE] = visit.since.isoformat()
    return visit


def _read_cookie() -> Visit | None:
    """Return the visit in the reader's cookie; None if there is none."""
    seen_at, since = session.get(SEEN_AT), session.get(SINCE)
    if not seen_at:
        return None
    return Visit(datetime.fromisoformat(since) if since else None, datetime.fromisoformat(seen_at))
