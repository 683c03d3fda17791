"""Sign-in with a token, for people with a browser, and sign-out."""

from __future__ import annotations

from datetime import UTC, datetime
from http import HTTPStatus

from flask import Blueprint, g, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from service.schemas.audit import AuditAction
from service.store import tokens
from service.web.access import audit_log
from service.web.access.authorization import requires_tokens
from service.web.access.credentials import verify_token
from service.web.access.provider_sign_in_page import build_sign_out_address
from service.web.access.sessions import begin_session, find_session_token, is_by_provider
from service.web.access.sign_in_page import render_problem, render_sign_in_page, restrict_address_to_own_pages
from service.web.app_resources import get_config, get_database
from service.web.problems import ProblemError

bp = Blueprint("access", __name__)

_REFUSED_MESSAGE = "This token is not valid. It may have been mistyped or revoked, or it has expired."


@bp.get("/sign-in")
def form() -> ResponseReturnValue:
    """Show the form that asks for a token, and the link to the identity provider."""
    if not requires_tokens():
        return redirect("/")
    return render_sign_in_page(restrict_address_to_own_pages(request.args.get("to", "/")))


@bp.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Check a token, and store its id in the session cookie, without its secret."""
    destination = restrict_address_to_own_pages(request.form.get("to", "/"))
    try:
        stored_token = verify_token(request.form.get("token", "").strip(), "sign-in page")
    except ProblemError as error:
        return render_problem(destination, error)
    if stored_token is None:
        return render_sign_in_page(destination, _REFUSED_MESSAGE, HTTPStatus.FORBIDDEN)
    begin_session(stored_token.id)
    with get_database().writing() as store:
        audit_log.record_action(store, AuditAction.SIGNED_IN, f"token {stored_token.id}", author=stored_token.name)
    return redirect(destination)


@bp.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """End the session, and revoke its token if it belongs to this session only."""
    token_id, by_provider = find_session_token(), is_by_provider()
    if token_id:
        with get_database().writing() as store:
            audit_log.record_action(store, AuditAction.SIGNED_OUT, f"token {token_id}")
            if by_provider:
                tokens.revoke_token(store, token_id, datetime.now(UTC))
    session.clear()
    g.pop("caller", None)  # so that the answer is rendered for a caller without a token
    provider = get_config().provider
    address = build_sign_out_address() if by_provider else None
    if provider is None or address is None:
        return redirect(url_for("access.form"))
    # A link, not a redirect: the content security policy forbids forms that lead to another site.
    return render_template("signed_out.html", address=address, provider=provider.host)
