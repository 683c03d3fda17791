"""Signing in with a token, for people with a browser, and out."""

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
    """Ask for a token."""
    if not by_token():
        return redirect("/")
    return render_template("sign_in.html", to=_inside(request.args.get("to", "/")), refused=False)


@bp.post("/sign-in")
def sign_in() -> ResponseReturnValue:
    """Take a token, and remember whose it is. The secret itself stays out of the cookie."""
    to = _inside(request.form.get("to", "/"))
    shown = parse_token(request.form.get("token", "").strip())
    if shown is not None:
        with database().reading() as store:
            kept = tokens.find(store, shown.id)
        if kept is not None and shown.proves(kept.digest) and kept.is_valid(datetime.now(UTC)):
            session.clear()
            session["token"] = shown.id
            return redirect(to)
    return render_template("sign_in.html", to=to, refused=True), 403


@bp.post("/sign-out")
def sign_out() -> ResponseReturnValue:
    """Forget it."""
    session.clear()
    return redirect(url_for("access.form"))


def _inside(address: str) -> str:
    """Return an address if it is one of our own, else the first page: a link to here must not lead elsewhere."""
    parts = urlsplit(address)
    ours = not parts.scheme and not parts.netloc and address.startswith("/") and "\\" not in address
    return address if ours and not address.startswith("//") else "/"
