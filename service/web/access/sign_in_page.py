"""The page that asks people who they are, and the pages to which they go from there."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import render_template
from flask.typing import ResponseReturnValue

from service.web.app_resources import get_config
from service.web.problems import ProblemError

_MAX_ADDRESS_CHARACTERS = 1000
"""Of a page, which the cookie holds while a person is at the identity provider."""


def render_sign_in_page(
    destination: str,
    refusal: str = "",
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
) -> ResponseReturnValue:
    """Return the page that asks for a token, or leads to the identity provider.

    Parameters
    ----------
    destination
        The page that the person wants to see after it.
    refusal
        Why the previous sign-in failed; empty if none did.
    """
    provider = get_config().provider
    page = render_template(
        "sign_in.html", to=destination, refused=refusal, provider=provider.host if provider is not None else None
    )
    return page, status, dict(headers or {})


def render_problem(destination: str, error: ProblemError) -> ResponseReturnValue:
    """Return the same page, with a problem that concerns the sign-in before."""
    return render_sign_in_page(destination, str(error), error.status, error.headers)


def restrict_to_own_pages(address: str) -> str:
    """Return an address of this service; the first page in place of any other, so that no link leads elsewhere."""
    parts = urlsplit(address)
    # Browsers read a backslash as a slash, and an address that begins with two slashes names a host.
    is_inside = not parts.scheme and not parts.netloc and address.startswith("/") and "\\" not in address
    is_short = len(address) <= _MAX_ADDRESS_CHARACTERS
    return address if is_inside and is_short and not address.startswith("//") else "/"
