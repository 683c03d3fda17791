"""Who decides: the caller, by token; on a service without tokens, the author that the request names."""

from __future__ import annotations

from service.web.access import guard
from service.web.problems import unprocessable


def author(named: str | None) -> str:
    """Return the author of a decision; nobody decides in the name of somebody else."""
    known = guard.caller().name
    if not guard.asks_for_tokens():
        return named or known
    if named not in {None, known}:
        detail = f"is {known} according to the token: leave this field out"
        raise unprocessable("author", detail)
    return known
