"""Conditional requests (RFC 9110, 13): each answer to a GET has an ETag, and a caller that has it gets 304."""

from __future__ import annotations

from flask import Response, request


def conditional(response: Response) -> Response:
    """Add a hash of the answer as its ETag; answer 304 where the caller has the same one.

    The answer is computed for each request all the same: only its transfer is saved. A cache has to ask each time.
    """
    if request.method in {"GET", "HEAD"} and response.status_code == 200 and not response.is_streamed:
        response.headers.setdefault("Cache-Control", "private, no-cache")
        response.add_etag()
        response.make_conditional(request)
    return response
