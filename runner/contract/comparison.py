"""Comparisons: base and head measured interleaved in one session on one host, and the service's verdict on them."""

from enum import StrEnum
from typing import Literal, Self

from pydantic import AliasChoices, Field, model_validator

from runner.contract.base import Strict
from runner.contract.budget import Budget
from runner.contract.judging import Judging, MetricName, Percent
from runner.contract.level import Number
from runner.contract.report import Environment, Outcome, Report

Rule = Literal["exact", "counts", "paired", "absent", "trend", "apart"]
"""How the verdict was reached. ``exact``: by counts that repeat; ``counts``: by counts that vary; ``paired``: by the
bounds of interleaved pairs; ``absent``: not at all, because a side has no values. Of runs that were not measured
interleaved, ``trend``: by the drifts of their series; ``apart``: not at all, because sessions may differ as much."""


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
    """Further noisy metrics that must be decided, each with its smallest relevant change in percent."""
    budgets: dict[str, Budget] = Field(default_factory=dict)
    """How much worse each metric may get. A metric that is not listed may not get worse."""
    cases: int = Field(default=1, ge=1, le=1000)
    """Number of cases that are judged together. They share the error probability."""
    max_pairs: int | None = Field(default=None, ge=1, validation_alias=AliasChoices("max_pairs", "most"))
    """The number of pairs after which measuring stops; None if unknown."""
    base_stored: bool = False
    """Whether base is a stored run in the same environment. In this case, only equal counts can be decided."""
    worth_proving: Percent | None = None
    """The smallest change of a count to look for, in percent of base; None for the smallest change that pairs can
    detect. A count that varies is judged the same as soon as its pairs exclude a change of this size."""

    @property
    def judging(self) -> Judging:
        """Which metrics are judged, and how."""
        return Judging(judge=self.judge, precision=self.precision, budgets=self.budgets)

    @model_validator(mode="after")
    def _check_sides(self) -> Self:
        """Check that base and head are measured runs of one case that can be compared."""
        # In one session, each side may be built and run by its own workload file, so the definitions may differ.
        shared_fields = ("case", "environment") if self.base_stored else ("session",)
        for field_name in ("subject", "host", *shared_fields):
            if getattr(self.base, field_name) != getattr(self.head, field_name):
                raise ValueError(f"base and head must have the same {field_name}")
        if not self.base.case.is_point_of(self.head.case):
            raise ValueError("base and head must belong to the same case")
        if {self.base.outcome, self.head.outcome} != {Outcome.MEASURED}:
            raise ValueError("base and head must both have been measured: neither may have failed or been skipped")
        return self


class Side(Strict):
    """One metric of base or of head."""

    level: Number | None
    """The level of the samples; None if there are none."""
    low: Number | None
    """The smallest sample."""
    high: Number | None
    """The largest sample."""
    n: int
    """Number of samples that have a value."""
    n_at_level: int = Field(validation_alias=AliasChoices("n_at_level", "agree"))
    """Number of samples whose value equals the level."""


class MetricVerdict(Strict):
    """The verdict on one metric, with the numbers that led to it."""

    metric: str
    verdict: Verdict
    counts: bool
    """Whether the metric counts for the whole comparison, as exact counts and the metrics listed in the workload
    file do."""
    rule: Rule
    base: Side
    head: Side
    change: Number | None
    """Level of head minus level of base. For an intermittent change: by how much head differs in the pairs that show
    it."""
    percent: float | None
    """The change in percent of the base; None if the base is zero."""
    direction: Literal["regression", "improvement"] | None
    """The direction of a metric that changed."""
    bounds: tuple[float, float] | None
    """The bounds of the true change by the paired rule, in percent of the mean of both sides."""
    threshold: float | None
    """The smallest relevant change: a number of events for an exact count, otherwise a percentage. If a count that
    varies is judged the same, its pairs exclude a change of this size."""
    sentence: str
    changed_pairs: int | None = Field(default=None, validation_alias=AliasChoices("changed_pairs", "times"))
    """For an intermittent change: the number of pairs that show it. None for a change of the level."""
    over_budget: bool = Field(default=False, validation_alias=AliasChoices("over_budget", "over"))
    """Whether the metric counts and certainly got worse by more than its budget."""
    may_exceed: bool = False
    """Whether the metric counts and got worse, perhaps by more than its budget. More pairs would decide."""
    budget: Budget = 0
    same_because: Literal["place", "other builds"] | None = Field(
        default=None, validation_alias=AliasChoices("same_because", "although")
    )
    """The measured reason why the metric counts as the same although the levels differ: base has the same count in
    head's place, or builds of one revision differ as much."""
    needs_other_build: bool = Field(
        default=False, validation_alias=AliasChoices("needs_other_build", "wants_other_build")
    )
    """Whether the change is so small that another build of the same revision can differ as much. One more build of
    each side would decide."""
    needs_other_place: bool = Field(
        default=False, validation_alias=AliasChoices("needs_other_place", "wants_other_place")
    )
    """Whether the metric changed although both programs found the same files. Measuring base in head's place would
    show why."""
    needs_cache_renewal: bool = Field(
        default=False, validation_alias=AliasChoices("needs_cache_renewal", "wants_renewal")
    )
    """Whether the metric changed while the state of unprepared files may differ. Pairs with a fresh page cache
    decide."""

    @property
    def is_judged(self) -> bool:
        """Whether the metric is judged, so that it counts for the whole comparison."""
        return self.counts


class Comparison(Strict):
    """The verdict on a comparison."""

    verdict: Verdict
    """The verdict on the metrics that count: `changed` if a metric changed, otherwise `needs_more_runs` if a metric
    needs more runs."""
    remaining_pairs: int = Field(ge=0, validation_alias=AliasChoices("remaining_pairs", "more"))
    """Pairs to measure before asking again; 0 if all metrics that count are decided."""
    needs_other_builds: bool = Field(
        default=False, validation_alias=AliasChoices("needs_other_builds", "wants_other_builds")
    )
    """Whether a metric that counts is decided for these two builds, but needs one more build of each side."""
    needs_other_place: bool = Field(
        default=False, validation_alias=AliasChoices("needs_other_place", "wants_other_place")
    )
    """Whether a metric that counts is decided, but base must also be measured in head's place."""
    needs_cache_renewal: bool = Field(
        default=False, validation_alias=AliasChoices("needs_cache_renewal", "wants_renewal")
    )
    """Whether a metric that counts is decided, but all pairs must be measured again with a fresh page cache."""
    metrics: tuple[MetricVerdict, ...]
    settings: tuple[str, ...]
    """Names of the settings that differ between the environments of base and head. The list should be empty."""
    same_bytes: bool = False
    """Whether the programs of both sides found the same files in their builds."""

    def find_verdict(self, metric: str) -> MetricVerdict | None:
        """Return the verdict on a metric; None if it was not compared."""
        return next((verdict for verdict in self.metrics if verdict.metric == metric), None)


def list_differing_settings(base: Environment, head: Environment) -> tuple[str, ...]:
    """Return the names of the settings that differ between two environments."""
    names = sorted({*base.settings, *head.settings})
    return tuple(name for name in names if base.settings.get(name) != head.settings.get(name))
