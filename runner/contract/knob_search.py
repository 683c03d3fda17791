"""A search for the knobs that moved a metric: what is asked, and what to measure next, or what was found."""

from typing import Annotated, Literal

from pydantic import Field

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host
from runner.contract.search import NothingToFind

KnobName = Annotated[str, Field(max_length=200)]
KnobValue = Annotated[str, Field(max_length=4000)] | None
"""As the environment shows it; None where the knob is not there."""


class KnobChange(Strict):
    """A knob that differs between the two environments; ``parameter.NAME`` is one of the case's parameters."""

    name: KnobName
    before: KnobValue
    after: KnobValue


class KnobSearchRequest(Strict):
    """Which of these knobs moved a metric? A search has no state but the runs that are stored.

    They are runs aside (``Report.aside``) of one revision: the environment and the case with some of the knobs changed.
    """

    subject: Name
    revision: CommitHash
    host: Host
    environment: Environment
    """As before: with none of the knobs changed."""
    case: Case
    """As before."""
    metric: Annotated[str, Field(max_length=200)]
    knobs: tuple[KnobChange, ...] = Field(min_length=1, max_length=64)
    least: float = Field(default=0, ge=0, le=2**64, allow_inf_nan=False)
    """Differences smaller than this do not matter, in the metric's unit."""


class MeasureKnobs(Strict):
    """Measure with these knobs as after next, and the others as before."""

    kind: Literal["measure"] = "measure"
    changed: tuple[str, ...]


class FoundKnobs(Strict):
    """The search is over: these knobs carry the difference together, and none of them can be left out."""

    kind: Literal["found"] = "found"
    knobs: tuple[str, ...]
    before: Number
    after: Number
    without: dict[str, Number]
    """What is measured where all of them but one are changed, by that one, as far as it is known."""
    probability: float = 1.0


KnobAnswer = MeasureKnobs | FoundKnobs | NothingToFind


class KnobSearch(Strict):
    """Where a search stands."""

    known: int
    """Stored runs that the search could use."""
    answer: KnobAnswer = Field(discriminator="kind")
