"""The models for signing in with the identity of a CI job."""

from typing import Annotated

from pydantic import StringConstraints

from runner.contract.base import Moment, Strict


class Identity(Strict):
    """The identity of a job: a token that its CI system signed."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=20_000)]


class Admission(Strict):
    """A token of the service."""

    token: str
    """The token, to be sent with every request until it expires."""
    expires_at: Moment
    scopes: tuple[str, ...]
