"""Conditional requests: answers 304 if the copy of a page or of an answer of the API is still current.

For a page, this is found out before the page is made: its content depends on the stored data, on the caller, and on the
time, for example where it shows recent events. An answer of the API is made, and then compared.
"""

from __future__ import annotations

import hashlib
import time

from flask import Response, request, session

from service.store.engine.data_version import read_version
from service.web.access import authorization
from service.web.app_resources import get_database
from service.web.rendering import reader_visit

_IRRELEVANT_KEYS = frozenset({reader_visit.SEEN_AT, "_permanent"})
"""Keys of the cookie on which no page depends."""
_TAG_DIGITS = 24
"""Hexadecimal digits of an entity tag: 96 bits, enough that two versions of a page never collide by chance."""
_MAX_AGE_SECONDS = 30
"""The longest time for which a page that depends on the time may be out of date."""


def find_current_etag() -> str | None:
    """Return the current entity tag of the requested page; None if the database does not have a data version."""
    stored_version = read_version(get_database())
    if stored_version is None:
        return None
    caller = authorization.find_caller()
    cookie = sorted((name, value) for name, value in session.items() if name not in _IRRELEVANT_KEYS)
    reader = caller.name, sorted(caller.scopes), caller.token_id, cookie
    version = (
        request.full_path,
        request.headers.get("Accept", ""),
        stored_version,
        reader,
        int(time.time() / _MAX_AGE_SECONDS),  # gives each period of this length another tag
    )
    return hashlib.sha256(repr(version).encode()).hexdigest()[:_TAG_DIGITS]


def build_not_modified_response(etag: str | None) -> Response | None:
    """Return 304 if the browser's copy has this tag; otherwise None."""
    if etag is None or not request.if_none_match.contains_weak(etag):
        return None
    return make_response_cacheable(Response(status=304), etag)


def make_response_cacheable(response: Response, etag: str | None) -> Response:
    """Let the browser store a page, but revalidate it before each use."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.update(("Accept", "Cookie"))
    if etag is not None:
        response.set_etag(etag, weak=True)
    return response


def make_conditional(response: Response) -> Response:
    """Add an ETag, a hash of the body, to a successful response of the API to GET or HEAD.

    It becomes 304 if the caller has the same one (RFC 9110, section 13). The response is still computed for each
    request: only the transfer is saved. Caches must revalidate each time.
    """
    if request.method in {"GET", "HEAD"} and response.status_code == 200 and not response.is_streamed:
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.add_etag()
        response.make_conditional(request)
    return response
