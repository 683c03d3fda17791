"""Finds the author of a decision: the name of the caller's token, or without tokens, the name in the request."""

from __future__ import annotations

from service.web.access import authorization
from service.web.problems import make_field_problem


def find_author(requested_name: str | None) -> str:
    """Return the author of a decision. A caller with a token cannot decide in somebody else's name.

    Raises
    ------
    ProblemError
        422, where the request names an author, and the caller's token has a different name.
    """
    token_name = authorization.find_caller().name
    if not authorization.requires_tokens():
        return requested_name or token_name
    if requested_name not in {None, token_name}:
        detail = f"is set by the token ({token_name}): leave this field out"
        raise make_field_problem("author", detail)
    return token_name
