"""Mismatches: how the actual settings of a host differ from its declared settings."""

from typing import Annotated

from pydantic import AliasChoices, Field, StringConstraints

from runner.contract.base import Strict


class Mismatch(Strict):
    """A declared setting whose actual value differs."""

    name: Annotated[str, StringConstraints(max_length=200)]
    declared: Annotated[str, StringConstraints(max_length=4000)]
    actual: Annotated[str, StringConstraints(max_length=4000)] | None = Field(
        validation_alias=AliasChoices("actual", "held")
    )
    """The value during the run; None if this machine has no such setting."""
