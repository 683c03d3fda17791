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


class Power(Strict):
    """How soon interleaved pairs would prove a small rise of a count, from how its samples vary."""

    case: Case
    metric: str
    percent: float | None
    """The rise; None for one event more, if the count repeats."""
    pairs: int | None
    """The pairs that most likely prove it; None if a comparison does not take as many."""
    seconds: float
    """How long they take."""
    sentence: str


class NominationList(Strict):
    """The nominations of a workload on one host, the most likely first."""

    items: tuple[Nomination, ...] = Field(max_length=10_000)
    powers: tuple[Power, ...] = Field(default=(), max_length=10_000)
    """What comparisons of these cases can find."""
