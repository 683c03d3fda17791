"""Searches for the knobs that moved a metric: the request, and what to measure next or the result."""

from typing import Annotated, Literal

from pydantic import Field

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host
from runner.contract.search import NothingToFind

KnobName = Annotated[str, Field(max_length=200)]
KnobValue = Annotated[str, Field(max_length=4000)] | None
"""As the environment shows it; None if the knob is not set."""


class KnobChange(Strict):
    """A knob that differs between the two environments; ``parameter.NAME`` is one of the case's parameters."""

    name: KnobName
    before: KnobValue
    after: KnobValue


class KnobSearchRequest(Strict):
    """Which of these knobs moved a metric? The stored runs are the only state of a search.

    Its runs are aside (``Report.aside``), of one revision: the environment and the case with some knobs changed.
    """

    subject: Name
    revision: CommitHash
    host: Host
    environment: Environment
    """The environment before, with none of the knobs changed."""
    case: Case
    """The case before."""
    metric: Annotated[str, Field(max_length=200)]
    knobs: tuple[KnobChange, ...] = Field(min_length=1, max_length=64)
    least: float = Field(default=0, ge=0, le=2**64, allow_inf_nan=False)
    """Differences smaller than this do not matter, in the metric's unit."""


class MeasureKnobs(Strict):
    """Next, measure with these knobs as after, and the others as before."""

    kind: Literal["measure"] = "measure"
    changed: tuple[str, ...]


class FoundKnobs(Strict):
    """The search has ended: these knobs together cause the difference, and none of them can be left out."""

    kind: Literal["found"] = "found"
    knobs: tuple[str, ...]
    before: Number
    after: Number
    without: dict[str, Number]
    """By knob: the value with all of the others changed, as far as it is known."""
    probability: float = 1.0


KnobAnswer = MeasureKnobs | FoundKnobs | NothingToFind


class KnobSearch(Strict):
    """The state of a search."""

    known: int
    """Number of stored runs that the search could use."""
    answer: KnobAnswer = Field(discriminator="kind")
