"""Sign-in and sign-out with a token, for people with a browser."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit

from flask import Blueprint, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from service.rules.access.token import parse_token
from service.store import tokens
from service.web.access.guard import by_token
from service.web.current import database

bp = Blueprint("access", __name__)


@bp.get("/sign-in")
def form() -> ResponseReturnValue:
    """Show the form that asks for a token."""
    if not by_token():
        return redirect("/")
    return render_template("sign_in.html", to=_inside(request.args.get("to", "/")), refused=False)


@bp.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Check a token and remember its id. The secret stays out of the cookie."""
    to = _inside(request.form.get("to", "/"))
    shown = parse_token(request.form.get("token", "").strip())
    if shown is not None:
        with database().reading() as store:
            stored = tokens.find(store, shown.id)
        if stored is not None and shown.proves(stored.digest) and stored.is_valid(datetime.now(UTC)):
            session.clear()
            session["token"] = shown.id
            return redirect(to)
    return render_template("sign_in.html", to=to, refused=True), 403


@bp.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Forget the token."""
    session.clear()
    return redirect(url_for("access.form"))


def _inside(address: str) -> str:
    """Return an address of this service; the first page in place of any other, so that no link leads elsewhere."""
    parts = urlsplit(address)
    ours = not parts.scheme and not parts.netloc and address.startswith("/") and "\\" not in address
    return address if ours and not address.startswith("//") else "/"
