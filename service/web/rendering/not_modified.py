"""Pages that need not be made again: a browser that has one asks whether it still holds, and is told so at once.

What a page shows depends on what is stored, on who looks, and on the time of day in the case of what lasts for a while.
"""

from __future__ import annotations

import hashlib
import time

from flask import Response, request, session

from service.store.engine.data_version import version
from service.web.access import guard
from service.web.current import database

_SECONDS = 30
"""How long what depends on the time may be out of date."""


def tag() -> str | None:
    """Return what tells this page, as it is now, from all others; None where nothing does."""
    stored = version(database())
    if stored is None:
        return None
    caller = guard.caller()
    who = caller.name, sorted(caller.scopes), caller.token_id, sorted(session.items())
    what = request.full_path, request.headers.get("Accept", ""), stored, who, int(time.time() / _SECONDS)
    return hashlib.sha256(repr(what).encode()).hexdigest()[:24]


def held(mark: str | None) -> Response | None:
    """Return the answer to a browser that has the very page already."""
    if mark is None or not request.if_none_match.contains_weak(mark):
        return None
    return marked(Response(status=304), mark)


def marked(response: Response, mark: str | None) -> Response:
    """Let the browser keep a page, and ask each time whether it still holds."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.update(("Accept", "Cookie"))
    if mark is not None:
        response.set_etag(mark, weak=True)
    return response
