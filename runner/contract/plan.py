"""What to measure: the runner says what it could do, the service says what it should do."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StringConstraints

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host


class Reason(StrEnum):
    """Why a run was ordered."""

    MISSING = "missing"
    """Not measured yet in this environment."""
    ANCHOR = "anchor"
    """Measured before in another environment. Measuring the same revision again in this one separates what the
    configuration did from what later commits did."""
    CROSSWISE = "crosswise"
    """Commit and configuration, or the host, changed at once. One measured without the other tells what each did."""
    RERUN = "rerun"
    """The newest run lies off the level before; another one tells whether that is a drift or a stray run."""


class PlanRequest(Strict):
    """What a runner offers to measure: revisions in history order, cases, and the environment that holds now."""

    subject: Name
    host: Host
    environment: Environment
    cases: tuple[Case, ...] = Field(min_length=1, max_length=10_000)
    revisions: tuple[CommitHash, ...] = Field(max_length=100_000)
    """Oldest first."""


class PlannedRun(Strict):
    """One case of one revision to measure."""

    revision: CommitHash
    case: Case
    reason: Reason = Reason.MISSING
    expected: dict[str, Number] = Field(default_factory=dict)
    """Levels of exact counts that the history shows before this revision: a sample that repeats them is enough."""


class Plan(Strict):
    """The runs that are left to make, in the order to make them, and how many need not be made."""

    runs: tuple[PlannedRun, ...]
    stored: int = Field(ge=0)
    """Points of the request that the service already holds."""
    note: Annotated[str, StringConstraints(max_length=1000)] = ""
