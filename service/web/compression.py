"""Compresses pages and documents on the wire.

A compressed answer's size depends on what it repeats, so text of an attacker beside a secret can reveal the secret
(BREACH). No page holds one: forms are guarded by the ``Sec-Fetch-Site`` header, not by tokens in the page. What shows a
new token is marked ``no-store``, and the search repeats any text beside stored names: neither is compressed.
Responses to methods other than GET, such as the lease of a job, are not compressed either.
"""

from __future__ import annotations

from http import HTTPStatus

from flask import Flask, Response, request
from flask_compress import Compress

_COMPRESSED_TYPES = (
    "text/html",
    "text/css",
    "text/csv",
    "text/javascript",
    "application/json",
    "application/problem+json",
    "application/atom+xml",
    "image/svg+xml",
)
_FILE_ENDPOINTS = ("static", "vendor.file")
"""Endpoints that serve files."""
_REFLECTING_ENDPOINTS = frozenset({"search.show", "search.show_json", "search.show_csv"})
"""Endpoints that repeat any text of the address."""


def register(app: Flask) -> None:
    """Compress the answers of an application, after everything else has changed them."""
    app.config.update(
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_MIMETYPES=list(_COMPRESSED_TYPES),
        COMPRESS_STREAMS=False,
        COMPRESS_REGISTER=False,  # compress_response calls the compressor
    )
    compressor = Compress(app)

    def compress_response(response: Response) -> Response:
        """Compress a response unless its size could reveal a secret (see above)."""
        if request.method != "GET" or request.endpoint in _REFLECTING_ENDPOINTS:
            return response
        if response.cache_control.no_store:
            return response
        if request.endpoint in _FILE_ENDPOINTS and response.is_streamed and response.status_code == HTTPStatus.OK:
            _read_file(response)
        return compressor.after_request(response)

    app.after_request(compress_response)


def _read_file(response: Response) -> None:
    """Read a file that would be streamed: a stream that a conditional request makes needless would stay open."""
    file = response.response
    response.direct_passthrough = False
    response.get_data()  # Replaces the stream by its content.
    if hasattr(file, "close"):
        file.close()
