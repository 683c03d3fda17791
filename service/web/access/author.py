"""Finds the author of a decision: the caller, by token; without tokens, the author that the request names."""

from __future__ import annotations

from service.web.access import authorization
from service.web.problems import make_unprocessable


def find_author(requested_name: str | None) -> str:
    """Return the author of a decision. With a token, nobody can decide in somebody else's name.

    Raises
    ------
    ProblemError
        422, where the request names another author than the token does.
    """
    token_name = authorization.find_caller().name
    if not authorization.requires_tokens():
        return requested_name or token_name
    if requested_name not in {None, token_name}:
        detail = f"is {token_name} according to the token: leave this field out"
        raise make_unprocessable("author", detail)
    return token_name
