"""What the forms of the pages share: the author, and what is wrong with the input."""

from __future__ import annotations

from flask import request, session
from pydantic import ValidationError

from service.web.access import guard

_AUTHOR = "author"


def author() -> str:
    """Return the likely author: the name of the token, or the author that this browser sent last."""
    return guard.caller().name if guard.by_token() else str(session.get(_AUTHOR, ""))


def given() -> dict[str, str]:
    """Return the filled-in fields of a form with its author; the browser remembers the author."""
    form = {name: value.strip() for name, value in request.form.items() if value.strip()}
    form[_AUTHOR] = guard.caller().name if guard.by_token() else form.get(_AUTHOR, "")
    if form[_AUTHOR] and not guard.by_token():
        session[_AUTHOR] = form[_AUTHOR][:100]
    return form


def wrong(error: ValidationError) -> str:
    """Describe the errors of a form."""
    errors = []
    for entry in error.errors():
        name = ".".join(map(str, entry["loc"]))
        text = entry["msg"].removeprefix("Value error, ")
        errors.append(f"{name}: {text}" if name else text)
    return "; ".join(errors)
