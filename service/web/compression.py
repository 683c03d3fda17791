"""Compresses responses, except where the compressed size could reveal a secret.

If a response contains both a secret and text of an attacker, its compressed size depends on how much of the secret the
text repeats, which can reveal the secret (BREACH). Ordinary pages contain no secret: forms are protected by the
``Sec-Fetch-Site`` header, not by tokens in the page. Three kinds of responses are not compressed: pages that show a new
token, which are marked ``no-store``; the search, which repeats any text beside stored names; and responses to methods
other than GET, such as the lease of a job.
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
"""Endpoints whose pages repeat arbitrary text from the address."""


def register(app: Flask) -> None:
    """Compress the responses of an application, after all other functions have changed them."""
    app.config.update(
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_MIMETYPES=list(_COMPRESSED_TYPES),
        COMPRESS_STREAMS=False,
        COMPRESS_REGISTER=False,  # compress_response calls the compressor
    )
    compressor = Compress(app)

    def compress_response(response: Response) -> Response:
        """Compress a response, unless it could contain both a secret and text of an attacker.

        The compressed size would reveal how much of the secret the text repeats (the BREACH attack).
        """
        if request.method != "GET" or request.endpoint in _REFLECTING_ENDPOINTS:
            return response
        if response.cache_control.no_store:
            return response
        if request.endpoint in _FILE_ENDPOINTS and response.is_streamed and response.status_code == HTTPStatus.OK:
            _read_file(response)
        return compressor.after_request(response)

    app.after_request(compress_response)


def _read_file(response: Response) -> None:
    """Read a streamed file into memory: the answer 304 to a conditional request would leave the stream open."""
    file = response.response
    response.direct_passthrough = False
    response.get_data()  # Replaces the stream with its content.
    if hasattr(file, "close"):
        file.close()
