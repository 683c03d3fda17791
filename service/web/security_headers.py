"""Adds headers to every response that restrict what a page may load, and forbid other sites to frame it."""

from __future__ import annotations

from http import HTTPStatus

from flask import Flask, Response

_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def register(app: Flask) -> None:
    """Add the headers to all responses of an application."""
    app.after_request(_add_security_headers)


def _add_security_headers(response: Response) -> Response:
    """Add the headers to a response."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    if response.status_code == HTTPStatus.NOT_MODIFIED:
        response.close()  # closes a file that was opened but is not sent
    return response
