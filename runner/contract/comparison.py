"""Comparisons: base and head measured interleaved in one session on one host, and the service's verdict on them."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import Field, model_validator

from runner.contract.base import Strict
from runner.contract.budget import Budget
from runner.contract.judging import Judging, MetricName, Percent
from runner.contract.level import Number
from runner.contract.report import Environment, Outcome, Report

Rule = Literal["exact", "counts", "paired", "absent", "trend", "apart"]
"""How the verdict was reached: by counts that repeat, by counts that vary, or by the bounds of interleaved pairs;
``absent``: a side has no values. Runs that were measured at different times can be distinguished by the drifts of their
trend; ``apart``: there is none that could tell."""


class Verdict(StrEnum):
    """The verdict on one metric, or on all metrics that count."""

    SAME = "same"
    CHANGED = "changed"
    NEEDS_MORE_RUNS = "needs_more_runs"


class ComparisonRequest(Strict):
    """The measurements of base and head so far: sample i of one is paired with sample i of the other."""

    base: Report
    head: Report
    judge: tuple[MetricName, ...] = Field(default=(), max_length=100)
    """Noisy metrics that must be decided."""
    precision: dict[str, Percent] = Field(default_factory=dict)
    """More of them, with the smallest relevant change of each in percent."""
    budgets: dict[str, Budget] = Field(default_factory=dict)
    """By how much metrics may get worse; metrics that are not named may not get worse."""
    cases: int = Field(default=1, ge=1, le=1000)
    """How many cases are judged together: they share the error probability."""
    most: int | None = Field(default=None, ge=1)
    """Pairs after which no more are measured; None if that is not known."""
    base_stored: bool = False
    """Whether base is a stored run in the same environment: then only equal counts can be decided."""

    @property
    def judging(self) -> Judging:
        """Which metrics are judged, and how."""
        return Judging(judge=self.judge, precision=self.precision, budgets=self.budgets)

    @model_validator(mode="after")
    def _check_sides(self) -> Self:
        # In one session, each side may be built and run as its own workload file says: then the definitions differ.
        together = ("case", "environment") if self.base_stored else ("session",)
        for what in ("subject", "host", *together):
            if getattr(self.base, what) != getattr(self.head, what):
                raise ValueError(f"base and head must have the same {what}")
        if not self.base.case.is_point_of(self.head.case):
            raise ValueError("base and head must belong to the same case")
        if {self.base.outcome, self.head.outcome} != {Outcome.MEASURED}:
            raise ValueError("base and head must be measured, not failed or skipped")
        return self


class Side(Strict):
    """One metric of base or of head."""

    level: Number | None
    low: Number | None
    high: Number | None
    n: int
    agree: int
    """Number of samples whose value is the level."""


class MetricVerdict(Strict):
    """The verdict on one metric, with the numbers that led to it."""

    metric: str
    verdict: Verdict
    counts: bool
    """Whether it decides the whole comparison: exact counts do, and what the workload names."""
    rule: Rule
    base: Side
    head: Side
    change: Number | None
    """Level of head minus level of base. For an intermittent change: by how much head differs where it shows."""
    percent: float | None
    """The change in percent of the base; None if the base is zero."""
    direction: Literal["regression", "improvement"] | None
    """The direction of a metric that changed."""
    bounds: tuple[float, float] | None
    """For the paired rule: the bounds of the true change, in percent of the mean of both sides."""
    threshold: float | None
    """The smallest relevant change: a number of events for an exact count, else percent."""
    sentence: str
    times: int | None = None
    """For an intermittent change: in how many pairs it shows. None for a change of the level."""
    over: bool = False
    """Whether it counts and surely got worse by more than its budget."""
    may_exceed: bool = False
    """Whether it counts and got worse, perhaps by more than its budget: more pairs would decide."""
    budget: Budget = 0
    although: Literal["place", "other builds"] | None = None
    """Why it is the same although the levels differ, as was measured: base counts the same in the place of head, or the
    difference is no larger than that between builds of the same revision."""
    wants_other_build: bool = False
    """Whether it changed by so little that another build of the same revision can differ as much. One more build of
    each side would decide."""
    wants_other_place: bool = False
    """Whether it changed although both programs were answered the same. Base in the place of head would show why."""
    wants_renewal: bool = False
    """Whether it changed while the state of unprepared files may differ. Pairs with the page cache renewed decide."""


class Comparison(Strict):
    """The verdict on a comparison."""

    verdict: Verdict
    """Of the metrics that count: changed if one changed; else needs more runs if one does."""
    more: int = Field(ge=0)
    """Pairs to measure before asking again; 0 if all metrics that count are decided."""
    wants_other_builds: bool = False
    """Whether a metric that counts is decided for these two builds, and wants one more build of each side."""
    wants_other_place: bool = False
    """Whether a metric that counts is decided, and wants base to be measured in the place of head, too."""
    wants_renewal: bool = False
    """Whether a metric that counts is decided, and wants all pairs again with the page cache renewed."""
    metrics: tuple[MetricVerdict, ...]
    settings: tuple[str, ...]
    """Names of the settings that differ between the environments of base and head. There should be none."""
    same_bytes: bool = False
    """Whether the programs of both sides asked the same about their builds, and were answered the same."""


def list_differing_settings(base: Environment, head: Environment) -> tuple[str, ...]:
    """Return the names of the settings that differ between two environments."""
    names = sorted({*base.settings, *head.settings})
    return tuple(name for name in names if base.settings.get(name) != head.settings.get(name))
