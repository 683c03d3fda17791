"""A comparison: base and head measured in turns in one session on one host, and what the service decides about them."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from runner.contract.base import Strict
from runner.contract.budget import Budget
from runner.contract.level import Number
from runner.contract.report import Environment, Outcome, Report

Rule = Literal["exact", "paired", "absent", "trend", "apart"]
"""How it was decided: by counts that repeat, or by pairs that were measured in turns. Runs that were measured at
different times can also be told apart by the drifts of their trend, or by the bounds of each side alone."""
Percent = Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]


class Verdict(StrEnum):
    """What is known about one metric, or about all that count."""

    SAME = "same"
    CHANGED = "changed"
    NEEDS_MORE_RUNS = "needs_more_runs"


class ComparisonRequest(Strict):
    """What was measured so far of base and head: sample i of one belongs with sample i of the other."""

    base: Report
    head: Report
    precision: dict[str, Percent] = Field(default_factory=dict)
    """The noisy metrics that have to be decided, and the smallest change of each that matters, in percent."""
    budgets: dict[str, Budget] = Field(default_factory=dict)
    """By how much metrics may get worse; those that are not named, by nothing."""
    base_stored: bool = False
    """Base was measured before, in the same environment: its counts can be those of head, and nothing else is known."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        together = () if self.base_stored else ("session",)
        for what in ("subject", "case", "host", *together, *(("environment",) if self.base_stored else ())):
            if getattr(self.base, what) != getattr(self.head, what):
                raise ValueError(f"base and head have to be of one {what}")
        if {self.base.outcome, self.head.outcome} != {Outcome.MEASURED}:
            raise ValueError("base and head have to be measured, and not failed or skipped")
        return self


class Side(Strict):
    """One metric of base or of head."""

    level: Number | None
    low: Number | None
    high: Number | None
    n: int
    agree: int
    """Samples that have the level as their value."""


class MetricVerdict(Strict):
    """The verdict about one metric, with its work."""

    metric: str
    verdict: Verdict
    counts: bool
    """Whether it decides about the whole comparison: exact counts do, and the metrics that have a precision."""
    rule: Rule
    base: Side
    head: Side
    change: Number | None
    """Level of head minus level of base."""
    percent: float | None
    """The change in percent of the base; None where that is zero."""
    direction: Literal["regression", "improvement"] | None
    """Of a metric that changed."""
    bounds: tuple[float, float] | None
    """Of the paired rule: between which changes, in percent of the mean of both sides, the true one lies."""
    threshold: float | None
    """Changes smaller than this do not matter: a number of events for an exact count, else percent."""
    sentence: str
    over: bool = False
    """Whether it counts, and has become worse by more than its budget allows."""
    budget: Budget = 0


class Comparison(Strict):
    """The verdict about a comparison."""

    verdict: Verdict
    """Of the metrics that count: changed where one is, needs more runs where one does and none is changed."""
    more: int = Field(ge=0)
    """Pairs to measure before asking again; 0 where all metrics that count are decided."""
    metrics: tuple[MetricVerdict, ...]
    knobs: tuple[str, ...]
    """Names of the knobs in which the environments of base and head differ. It should be none."""


def differing(base: Environment, head: Environment) -> tuple[str, ...]:
    """Return the names of the knobs in which two environments differ."""
    names = sorted({*base.knobs, *head.knobs})
    return tuple(name for name in names if base.knobs.get(name) != head.knobs.get(name))
