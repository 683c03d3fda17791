"""Bounds the bodies of requests: callers without a token may send only small ones."""

from __future__ import annotations

from flask import Flask, request

from service.forges.registry import FORGES
from service.web.access import authorization

ANONYMOUS_BYTES = 1 << 20
"""Largest body from a caller without a token, such as a sign-in."""
_WEBHOOK_BYTES = {forge.webhook: forge.max_webhook_bytes for forge in FORGES.values()}
"""Largest body of a forge's event in bytes, by the path of the webhook."""


def register(app: Flask) -> None:
    """Bound the bodies of all requests of an application, before their authorization or a view reads one."""
    app.before_request(_limit_body)


def choose_body_limit(path: str, *, has_scopes: bool, max_bytes: int) -> int:
    """Return the largest body of a request that is accepted, in bytes.

    Parameters
    ----------
    has_scopes
        Whether the caller has presented a token that grants at least one scope.
    max_bytes
        The limit of the application.
    """
    if path in _WEBHOOK_BYTES:
        return min(_WEBHOOK_BYTES[path], max_bytes)
    return max_bytes if has_scopes else min(ANONYMOUS_BYTES, max_bytes)


def _limit_body() -> None:
    """Limit the body of the current request by its path and its caller."""
    max_bytes = request.max_content_length
    if max_bytes is not None and request.method not in {"GET", "HEAD", "OPTIONS"}:
        request.max_content_length = choose_body_limit(
            request.path, has_scopes=bool(authorization.find_caller().scopes), max_bytes=max_bytes
        )
