"""Who decides: the caller, by token; on a service without tokens, the author that the request names."""

from __future__ import annotations

from service.web.access import guard
from service.web.problems import make_unprocessable


def find_author(named: str | None) -> str:
    """Return the author of a decision; nobody decides in the name of somebody else."""
    known = guard.find_caller().name
    if not guard.requires_tokens():
        return named or known
    if named not in {None, known}:
        detail = f"is {known}, by the token: leave it out"
        raise make_unprocessable("author", detail)
    return known
