"""Answers that need not be sent again: each GET carries an ETag, and a caller that has it is told so (RFC 9110, 13)."""

from __future__ import annotations

from flask import Response, request


def conditional(response: Response) -> Response:
    """Mark an answer with a hash of it; answer 304 where the caller has the very same one.

    An answer is made anew for each request all the same: what is saved is the way. Who keeps it has to ask each time.
    """
    if request.method in {"GET", "HEAD"} and response.status_code == 200 and not response.is_streamed:
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.add_etag()
        response.make_conditional(request)
    return response
