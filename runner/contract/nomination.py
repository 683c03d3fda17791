"""Nominations: changes of level that stored runs make likely, for a runner to prove or refute."""

from pydantic import Field

from runner.contract.base import Strict
from runner.contract.level import Number
from runner.contract.report import Case


class Nomination(Strict):
    """A likely change of one metric between two revisions of a series."""

    case: Case
    metric: str
    base: str
    """The newest revision that is on the old level."""
    head: str
    """The oldest revision that is on the new level."""
    before: Number
    after: Number
    percent: float | None
    """The change in percent of the old level; None if that is zero."""
    likely: bool
    """Whether the change is likelier than not; the others are worth a comparison if there is time."""


class NominationList(Strict):
    """The nominations of a workload on one host, the most likely first."""

    items: tuple[Nomination, ...] = Field(max_length=10_000)
