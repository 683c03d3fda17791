"""Stops every request that its caller may not send, before anything else sees it."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import Flask, current_app, g, redirect, request, session, url_for
from werkzeug.wrappers import Response as AnyResponse

from service.rules.access.scope import LOCAL, Caller, Scope, needed_scope
from service.rules.access.token import PREFIX, parse_token
from service.store import tokens
from service.store.models import Token
from service.web.current import database
from service.web.problems import ProblemError

_MODE = "faultwatch.access"
_SAFE = {"GET", "HEAD", "OPTIONS"}
_PROGRAMS = ("/api/", "/metrics")
"""Where programs ask. They say that they take anything, and cannot fill in a form all the same."""


def register(app: Flask, *, by_token: bool) -> None:
    """Let an application answer everybody who reaches it, or by token."""
    app.extensions[_MODE] = by_token
    app.before_request(_guard)


def by_token() -> bool:
    """Whether the application asks for tokens."""
    return bool(current_app.extensions[_MODE])


def caller() -> Caller:
    """Return who sends this request; nobody in particular, with no scope, where they did not say."""
    if "caller" not in g:
        g.caller = _identify() if by_token() else LOCAL
    found: Caller = g.caller
    return found


def _guard() -> AnyResponse | None:
    _refuse_other_sites()
    scope = needed_scope(request.endpoint, request.method)
    if scope is None or caller().may(scope):
        return None
    if caller().scopes:
        raise ProblemError(HTTPStatus.FORBIDDEN, f"This needs a token with the scope {scope}; yours has {_told()}.")
    if (
        request.blueprint is not None
        and not request.path.startswith(_PROGRAMS)
        and request.accept_mimetypes.accept_html
    ):
        return redirect(url_for("access.form", to=request.full_path.rstrip("?")))
    raise ProblemError(
        HTTPStatus.UNAUTHORIZED,
        f"Send a token with the scope {scope}: Authorization: Bearer {PREFIX}_…",
        headers={"WWW-Authenticate": 'Bearer realm="Faultwatch"'},
    )


def _told() -> str:
    return ", ".join(sorted(caller().scopes))


def _identify() -> Caller:
    """Find the token: that of a program is in its header, that of a browser was shown when it signed in."""
    header = request.headers.get("Authorization")
    if header is None:
        kept = _kept(session.get("token", ""))
    else:
        kind, _, text = header.partition(" ")
        shown = parse_token(text.strip()) if kind.lower() == "bearer" else None
        kept = _kept(shown.id) if shown else None
        kept = kept if kept and shown and shown.proves(kept.digest) else None
    if kept is None or not kept.is_valid(datetime.now(UTC)):
        return Caller("", frozenset())
    return Caller(kept.name, frozenset(Scope(scope) for scope in kept.scopes), kept.repository, kept.id)


def _kept(token_id: str) -> Token | None:
    with database().reading() as store:
        return tokens.find(store, token_id)


def _refuse_other_sites() -> None:
    """Refuse what a page of another site makes a browser send: the browser says where it comes from.

    Programs say nothing of the kind. On loopback, where there are no tokens, this is what stands between the service
    and every page that its owner looks at.
    """
    if request.method in _SAFE:
        return
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    foreign = site not in {None, "same-origin", "none"} or (
        origin is not None and urlsplit(origin).netloc != request.host
    )
    if foreign:
        raise ProblemError(HTTPStatus.FORBIDDEN, "A page of another site may not do this.")
