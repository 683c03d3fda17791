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
    """The change in percent of the old level; None if the old level is zero."""
    likely: bool
    """Whether the change is more likely than not. Other nominations are worth a comparison if time permits."""
    proven: bool = False
    """Whether interleaved pairs have shown the change, so that only its commit between the two is unknown."""


class Power(Strict):
    """How many interleaved pairs would prove a small rise of a count."""

    case: Case
    metric: str
    percent: float | None
    """The rise; None for a rise of one event, if the count repeats."""
    pairs: int | None
    """The most likely number of pairs that prove the rise; None if it exceeds the maximum of a comparison."""
    seconds: float
    """The duration of these pairs; without a number of pairs, that of the largest number."""
    sentence: str


class NominationList(Strict):
    """The nominations of a workload on one host, the most likely first."""

    items: tuple[Nomination, ...] = Field(max_length=10_000)
    powers: tuple[Power, ...] = Field(default=(), max_length=10_000)
    """How many pairs would prove a small rise, for the cases on the host."""
