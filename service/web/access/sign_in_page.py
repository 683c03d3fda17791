"""The sign-in page, and the check of the address to which it leads."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import render_template
from flask.typing import ResponseReturnValue

from service.web.app_resources import get_config
from service.web.problems import ProblemError

_MAX_ADDRESS_CHARACTERS = 1000
"""Length of the destination that fits into the cookie, which keeps it while a person is at the identity provider."""


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
        The page that the person wants to see after the sign-in.
    refusal
        Why the previous sign-in failed; empty if none did.
    """
    provider = get_config().provider
    page = render_template(
        "sign_in.html", to=destination, refused=refusal, provider=provider.host if provider is not None else None
    )
    return page, status, dict(headers or {})


def render_problem(destination: str, error: ProblemError) -> ResponseReturnValue:
    """Return the sign-in page with the problem of the previous sign-in."""
    return render_sign_in_page(destination, str(error), error.status, error.headers)


def restrict_address_to_own_pages(address: str) -> str:
    """Return an address if it leads to this service, otherwise the first page: no link may redirect to other sites."""
    try:
        parts = urlsplit(address)
    except ValueError:  # "//[", for example: what follows the slashes cannot be the name of a host.
        return "/"
    # Browsers read a backslash as a slash, and two slashes at the start precede the name of a host.
    is_inside = not parts.scheme and not parts.netloc and address.startswith("/") and "\\" not in address
    is_short = len(address) <= _MAX_ADDRESS_CHARACTERS
    return address if is_inside and is_short and not address.startswith("//") else "/"
