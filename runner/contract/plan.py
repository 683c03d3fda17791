"""Plans: the runner offers what it can measure, and the service answers what it should measure."""

from enum import StrEnum

from pydantic import AliasChoices, Field

from runner.contract.base import CommitHash, Line, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host


class Reason(StrEnum):
    """The reason why a run was ordered."""

    MISSING = "missing"
    """Not measured yet in this environment."""
    ANCHOR = "anchor"
    """Measured before in another environment. Measuring the same revision again in this environment separates the
    effect of the configuration from that of later commits."""
    CROSS_MEASUREMENT = "cross_measurement"
    """Commit and configuration, or the host, changed at once. Measuring with only one of them changed separates their
    effects."""
    RERUN = "rerun"
    """The newest run differs from the previous level. Another run of the level with fewer runs shows whether the
    difference is a drift or an outlier."""


class PlanRequest(Strict):
    """The runs that a runner offers to measure: revisions in history order, cases, and the current environment."""

    subject: Name
    host: Host
    environment: Environment
    cases: tuple[Case, ...] = Field(min_length=1, max_length=10_000)
    revisions: tuple[CommitHash, ...] = Field(max_length=100_000)
    """The revisions, oldest first."""
    retry_failed: bool = Field(default=False, validation_alias=AliasChoices("retry_failed", "again"))
    """Plan every revision again that could not be measured, whatever the reason."""
    measure_all: bool = False
    """Plan every revision again whose counts were reused from a run with the same bytes."""


class PlannedRun(Strict):
    """One case of one revision to measure."""

    revision: CommitHash
    case: Case
    reason: Reason = Reason.MISSING
    expected: dict[str, Number] = Field(default_factory=dict)
    """The levels of exact counts before this revision. If the first sample repeats them, it is enough."""


class Plan(Strict):
    """The missing runs, in the order in which to measure them, and the number of stored points."""

    runs: tuple[PlannedRun, ...]
    stored: int = Field(ge=0)
    """Points of the request that are already stored."""
    stored_failures: int = Field(default=0, ge=0)
    """How many of the stored points have only failed runs."""
    note: Line = ""
