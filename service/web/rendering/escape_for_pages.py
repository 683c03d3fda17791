"""Replaces invisible characters in pages and pictures with their code points.

Titles, names and logs are untrusted, and HTML escaping does not affect such characters: a direction override in the
title of a commit would reverse the rest of its line. In a picture, which is XML, some of them are not allowed at all: a
browser would show an error instead of the picture.
"""

from __future__ import annotations

import re

from flask import Flask, Response

_INVISIBLE_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\U000e0000-\U000e007f]"
)
"""Control and format characters (Unicode's categories Cc and Cf), separators, and the two characters that XML does not
allow, except for line breaks and tabs."""
_MEDIA_TYPES = {"text/html", "image/svg+xml"}


def register(app: Flask) -> None:
    """Replace invisible characters in all pages and pictures of an application."""
    app.after_request(_escape_response)


def escape_invisible_characters(source: str) -> str:
    """Return the source of a page with invisible characters written as ``[U+202E]``, also in attributes and JSON."""
    return _INVISIBLE_CHARACTER.sub(lambda match: f"[U+{ord(match[0]):04X}]", source)


def _escape_response(response: Response) -> Response:
    """Replace the invisible characters in a page or a picture that is about to be sent."""
    if response.mimetype in _MEDIA_TYPES and not response.is_streamed and not response.direct_passthrough:
        source = response.get_data(as_text=True)
        if _INVISIBLE_CHARACTER.search(source):
            response.set_data(escape_invisible_characters(source))
    return response
