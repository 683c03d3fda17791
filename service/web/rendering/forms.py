"""What forms about drifts have in common: who decides, and what is wrong with what was sent."""

from __future__ import annotations

from flask import request, session
from pydantic import ValidationError

from service.web.access import guard

_AUTHOR = "author"


def author() -> str:
    """Return who is likely to decide: the name of the token, else whom this browser was last."""
    return guard.caller().name if guard.by_token() else str(session.get(_AUTHOR, ""))


def given() -> dict[str, str]:
    """Return what a form holds, with its author, who is remembered."""
    form = {name: value.strip() for name, value in request.form.items() if value.strip()}
    form[_AUTHOR] = guard.caller().name if guard.by_token() else form.get(_AUTHOR, "")
    if form[_AUTHOR] and not guard.by_token():
        session[_AUTHOR] = form[_AUTHOR][:100]
    return form


def wrong(error: ValidationError) -> str:
    """Say what is wrong with what was sent."""
    told = []
    for entry in error.errors():
        name = ".".join(map(str, entry["loc"]))
        text = entry["msg"].removeprefix("Value error, ")
        told.append(f"{name}: {text}" if name else text)
    return "; ".join(told)
