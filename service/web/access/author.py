"""Who decides: the caller, by token; on a service that only answers on loopback, whoever the request names."""

from __future__ import annotations

from service.web.access import guard
from service.web.problems import unprocessable


def author(named: str | None) -> str:
    """Return who sends this request; nobody decides in another's name."""
    known = guard.caller().name
    if not guard.by_token():
        return named or known
    if named not in {None, known}:
        detail = f"is {known}, by the token: leave it out"
        raise unprocessable("author", detail)
    return known
