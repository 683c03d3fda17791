"""Sign-in and sign-out with a token, for people with a browser."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from flask import Blueprint, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from service.schemas.audit import AuditAction
from service.web.access import audit_log
from service.web.access.credentials import verify_token
from service.web.access.guard import requires_tokens
from service.web.app_resources import get_database
from service.web.problems import ProblemError

bp = Blueprint("access", __name__)

_REFUSED_MESSAGE = "This token is not valid. It may be mistyped, expired or revoked."


@bp.get("/sign-in")
def form() -> ResponseReturnValue:
    """Show the form that asks for a token."""
    if not requires_tokens():
        return redirect("/")
    return render_template("sign_in.html", to=_restrict_to_own_pages(request.args.get("to", "/")), refused="")


@bp.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Check a token and remember its id. The secret stays out of the cookie."""
    destination = _restrict_to_own_pages(request.form.get("to", "/"))
    try:
        stored = verify_token(request.form.get("token", "").strip(), "sign-in page")
    except ProblemError as error:
        return render_template("sign_in.html", to=destination, refused=str(error)), error.status, error.headers
    if stored is None:
        return render_template("sign_in.html", to=destination, refused=_REFUSED_MESSAGE), HTTPStatus.FORBIDDEN
    session.clear()
    session["token"] = stored.id
    with get_database().writing() as store:
        audit_log.record_action(store, AuditAction.SIGNED_IN, f"token {stored.id}", author=stored.name)
    return redirect(destination)


@bp.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Forget the token."""
    if "token" in session:
        with get_database().writing() as store:
            audit_log.record_action(store, AuditAction.SIGNED_OUT, f"token {session['token']}")
    session.clear()
    return redirect(url_for("access.form"))


def _restrict_to_own_pages(address: str) -> str:
    """Return an address of this service; the first page in place of any other, so that no link leads elsewhere."""
    parts = urlsplit(address)
    is_inside = not parts.scheme and not parts.netloc and address.startswith("/") and "\\" not in address
    return address if is_inside and not address.startswith("//") else "/"
