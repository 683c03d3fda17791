"""Defines the base of the models of a search."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """Base of the models of a search: immutable, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
