"""Tokens, with which callers access the service: admins create and revoke them. A secret is shown only once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

from flask import abort, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from service.rules.access.scope import MEANINGS, Scope
from service.rules.access.token import DEFAULT_TOKEN_DAYS, PresentedToken
from service.rules.access.token_limits import TokenLimits
from service.schemas.audit import AuditAction
from service.schemas.history import View
from service.store import tokens
from service.store.models import Token
from service.web.access import audit_log, authorization
from service.web.app_resources import get_database
from service.web.pages.error_pages import make_page_blueprint
from service.web.rendering.page_formats import Page, Table, page

bp = make_page_blueprint("tokens")

_MAX_DAYS = 3650
_LIMITS = ("hosts", "subjects", "repositories")
_COLUMNS = ("id", "name", "scopes", "repository", *_LIMITS, "state", "created_at", "expires_at", "revoked_at")


class TokenEntry(View):
    """A token, without its secret."""

    id: str
    name: str
    scopes: list[str]
    repository: str | None
    hosts: list[str] | None
    """Patterns of the host names under which the token may report; None for all."""
    subjects: list[str] | None
    repositories: list[str] | None
    state: str
    """``holds``, ``expired`` or ``revoked``."""
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None


@page(bp, "/tokens")
def index() -> Page:
    """List tokens, the newest first."""
    entries = _list_entries()
    return Page(
        "tokens.html",
        _build_context(entries),
        document=lambda: entries,
        table=lambda: Table(_COLUMNS, ([_format_cell(entry, name) for name in _COLUMNS] for entry in entries)),
    )


@bp.post("/tokens")
def make() -> ResponseReturnValue:
    """Create the token that the form describes, and show its secret once."""
    form: dict[str, Any] = {name: request.form.get(name, "") for name in ("name", *_LIMITS)}
    form["scopes"] = request.form.getlist("scope")
    # The default is for a form without this field. What cannot be read as a number becomes 0, which is refused below.
    days = request.form.get("days", 0, int) if "days" in request.form else DEFAULT_TOKEN_DAYS
    scopes = [Scope(scope) for scope in form["scopes"] if scope in set(Scope)]
    if not scopes:
        return _show_problem(form, "scope: choose at least one.")
    if not 0 < days <= _MAX_DAYS:
        return _show_problem(form, f"days: a token is valid for 1 to {_MAX_DAYS:,} days.")
    limits = {name: tuple(str(form[name]).replace(",", " ").split()) or None for name in _LIMITS}
    try:
        with get_database().writing() as session:
            token = tokens.issue_token(
                session, str(form["name"]), scopes, days, datetime.now(UTC), limits=TokenLimits(**limits)
            )
            detail = {"name": form["name"], "scopes": scopes, "days": days, **limits}
            audit_log.record_action(session, AuditAction.TOKEN_MADE, f"token {token.id}", detail)
    except tokens.TokenRefusedError as error:
        return _show_problem(form, f"{error.part}: {error}.")
    response = make_response(render_template("tokens.html", **_build_context(_list_entries(), token)))
    response.headers["Cache-Control"] = "no-store"
    return response


@bp.post("/tokens/<token_id>/revoke")
def revoke(token_id: str) -> ResponseReturnValue:
    """Revoke a token. A token that was already revoked does not change."""
    now = datetime.now(UTC)
    with get_database().writing() as session:
        row = tokens.revoke_token(session, token_id, now)
        if row is None:
            abort(404, "There is no such token.")
        if row.revoked_at == now:  # Otherwise it was revoked before, and this request changed nothing.
            audit_log.record_action(session, AuditAction.TOKEN_REVOKED, f"token {token_id}", {"name": row.name})
    return redirect(url_for("tokens.index"), HTTPStatus.SEE_OTHER)


def _show_problem(form: dict[str, Any], problem: str) -> ResponseReturnValue:
    context = _build_context(_list_entries()) | {"form": form, "problem": problem}
    return render_template("tokens.html", **context), HTTPStatus.UNPROCESSABLE_ENTITY


def _list_entries() -> list[TokenEntry]:
    now = datetime.now(UTC)
    with get_database().reading() as session:
        return [_build_entry(row, now) for row in tokens.list_tokens(session)]


def _build_context(entries: Sequence[TokenEntry], token: PresentedToken | None = None) -> dict[str, Any]:
    """Return the context of the template of the tokens."""
    return {
        "tokens": entries,
        "shown": token,
        "asked_for": authorization.requires_tokens(),
        "own": authorization.find_caller().token_id,
        "meanings": MEANINGS,
        "days": DEFAULT_TOKEN_DAYS,
        "most_days": _MAX_DAYS,
        "form": {},
        "problem": None,
    }


def _build_entry(row: Token, now: datetime) -> TokenEntry:
    """Return a token as the page lists it, without its secret."""
    state = "holds" if row.is_valid(now) else "expired"
    if row.revoked_at:
        state = "revoked"
    return TokenEntry(
        id=row.id,
        name=row.name,
        scopes=row.scopes,
        repository=row.repository,
        hosts=row.hosts,
        subjects=row.subjects,
        repositories=row.repositories,
        state=state,
        created_at=row.created_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


def _format_cell(entry: TokenEntry, name: str) -> object:
    value = getattr(entry, name)
    return " ".join(value) if isinstance(value, list) else value
