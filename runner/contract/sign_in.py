"""Signing in with the identity of a CI job."""

from typing import Annotated

from pydantic import StringConstraints

from runner.contract.base import Moment, Strict


class Identity(Strict):
    """What a job shows of itself: a token that its CI system signed."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Admission(Strict):
    """What it gets for that."""

    token: str
    """To be sent with every request, until it expires."""
    expires_at: Moment
    scopes: tuple[str, ...]
