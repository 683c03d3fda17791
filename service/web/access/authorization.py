"""Refuses every request that its caller may not send, before any view sees it."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import Flask, current_app, g, redirect, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from runner.contract.word_list import join_words
from service.rules.access.caller import LOCAL, Caller
from service.rules.access.scope import Scope, find_needed_scope, may_read_anonymously
from service.rules.access.token import PREFIX
from service.store import tokens
from service.web.access.credentials import verify_token
from service.web.access.sessions import find_session_token
from service.web.app_resources import get_config, get_database
from service.web.problems import ProblemError

_MODE_KEY = "faultwatch.access"
_SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
_PROGRAM_PATHS = ("/api/", "/metrics")
"""Prefixes of the paths that programs request. Programs accept any format, but cannot fill in the sign-in form."""


def register(app: Flask, *, by_token: bool) -> None:
    """Check every request of an application before its view is called.

    Parameters
    ----------
    by_token
        Whether callers need a token; otherwise the application is open to everybody who can reach it.
    """
    app.extensions[_MODE_KEY] = by_token
    app.before_request(_check_request)


def requires_tokens() -> bool:
    """Return whether the application asks for tokens."""
    return bool(current_app.extensions[_MODE_KEY])


def find_caller() -> Caller:
    """Return the caller of this request; without a valid token, a caller without a name and scopes."""
    if "caller" not in g:
        g.caller = _identify_caller() if requires_tokens() else LOCAL
    current: Caller = g.caller
    return current


def is_anonymous() -> bool:
    """Return whether the service has public results, and the caller has presented no token and has not signed in.

    A wrong token is always refused, so that the program that sends it notices.
    """
    are_results_public = requires_tokens() and get_config().anonymous_read
    return are_results_public and "Authorization" not in request.headers and not find_caller().scopes


def _check_request() -> AnyResponse | None:
    """Let a request pass (None) if its caller may send it; otherwise return the way to the sign-in page, or refuse it.

    Raises
    ------
    ProblemError
        401, where a program sends no valid token; 403, where the token lacks the scope, or a page of another site sends
        the request.
    """
    _refuse_other_sites()
    scope = find_needed_scope(request.endpoint, request.method)
    if scope is None or find_caller().may(scope):
        return None
    if is_anonymous() and may_read_anonymously(request.endpoint, request.method):
        return None
    if find_caller().scopes:
        detail = f"This request needs a token with the scope {scope}; yours has only {_describe_scopes()}."
        raise ProblemError(HTTPStatus.FORBIDDEN, detail)
    # A person with a browser can sign in and come back. Files such as the style sheet belong to no blueprint.
    is_page = request.blueprint is not None and not request.path.startswith(_PROGRAM_PATHS)
    if is_page and request.accept_mimetypes.accept_html:
        return redirect(url_for("access.form", to=_find_page_to_return_to()))
    has_header = "Authorization" in request.headers
    token_problem = "The token is malformed, unknown, expired or revoked. " if has_header else ""
    raise ProblemError(
        HTTPStatus.UNAUTHORIZED,
        f"{token_problem}Send a token with the scope {scope}: Authorization: Bearer {PREFIX}_…",
        headers={"WWW-Authenticate": 'Bearer realm="Faultwatch"'},
    )


def _find_page_to_return_to() -> str:
    """Return the address of the requested page, or that of the page with the form that was sent.

    A form cannot be sent again after the sign-in, and its own address shows no page. The first page is returned if the
    browser does not name a page of this service.
    """
    if request.method in _SAFE_METHODS:
        return request.full_path.rstrip("?")
    referrer = request.referrer or ""
    if not _is_own_origin(referrer):
        return "/"
    parts = urlsplit(referrer)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _describe_scopes() -> str:
    """Return the scopes of the caller's token as a list in a sentence."""
    return join_words(sorted(find_caller().scopes))


def _identify_caller() -> Caller:
    """Return the caller by its token: from the Authorization header, or from the session of a browser."""
    header = request.headers.get("Authorization")
    if header is None:
        with get_database().reading() as store:
            stored_token = tokens.find_token(store, find_session_token())
    else:
        kind, _, text = header.partition(" ")
        stored_token = verify_token(text.strip(), "Authorization header") if kind.lower() == "bearer" else None
    if stored_token is None or not stored_token.is_valid(datetime.now(UTC)):
        return Caller("", frozenset())
    scopes = frozenset(Scope(scope) for scope in stored_token.scopes)
    return Caller(
        stored_token.name,
        scopes,
        repository=stored_token.repository,
        token_id=stored_token.id,
        limits=tokens.build_limits(stored_token),
    )


def _refuse_other_sites() -> None:
    """Refuse requests that a page of another site makes a browser send; the browser's headers name their origin.

    Programs send no such headers. On loopback, where there are no tokens, only this check protects the service from
    every page that its owner visits.
    """
    if request.method in _SAFE_METHODS:
        return
    fetch_site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    is_foreign = fetch_site not in {None, "same-origin", "none"}  # none: a person sent it, not a page
    has_other_origin = origin is not None and not _is_own_origin(origin)
    if has_other_origin and fetch_site == "same-origin" and origin != "null":
        # The browser has compared the two itself, so the name of the host was changed on the way.
        raise ProblemError(
            HTTPStatus.FORBIDDEN,
            f"This request came from {origin}, but it arrived with the host name {request.host}. A proxy in front of "
            "the service must pass on the Host header.",
        )
    if is_foreign or has_other_origin:
        raise ProblemError(HTTPStatus.FORBIDDEN, "This request came from a page on another site, which is not allowed.")


def _is_own_origin(address: str) -> bool:
    """Return whether the address or the origin of a page belongs to this service."""
    try:
        return urlsplit(address).netloc == request.host
    except ValueError:  # "http://[", for example
        return False
