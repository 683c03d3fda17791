"""Searches for the commits that moved a metric: the request, and what to measure next or the result."""

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AliasChoices, Field

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case, Environment, Host


class Pace(Strict):
    """The durations of the steps of a search on its host."""

    build_jobs: int = Field(default=1, ge=1, le=64)
    """How many commits the host builds side by side."""
    build_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Duration of the last build; None before the first one."""
    build_cpu_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """CPU time of the last build."""
    measure_seconds: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Duration of the last measurement."""


class SearchRequest(Strict):
    """A request for the commits after ``good``, up to and with ``bad``, that moved a metric.

    The service must know the commits. The stored runs are the only state of a search: measure the commits that the
    answer names, send the runs, and ask again.
    """

    subject: Name
    host: Host
    environment: Environment
    case: Case
    metric: Annotated[str, Field(max_length=200)]
    good: CommitHash
    bad: CommitHash
    min_difference: float = Field(
        default=0, ge=0, le=2**64, allow_inf_nan=False, validation_alias=AliasChoices("min_difference", "least")
    )
    """The smallest relevant difference, in the metric's unit."""
    prove: bool = True
    """Whether to measure each culprit again, interleaved with its parent."""
    pace: Pace = Pace()
    """The durations of builds and runs on the host, which influence the choice of the next commits."""


class Measure(Strict):
    """Measure these commits next. For a noisy metric, a commit can appear twice."""

    kind: Literal["measure"] = "measure"
    commits: tuple[str, ...]
    runs_left: int = Field(validation_alias=AliasChoices("runs_left", "left"))
    """Expected number of remaining runs, including these."""


class ProofState(StrEnum):
    """The result of measuring a culprit interleaved with its parent."""

    STANDS = "stands"
    FAILS = "fails"
    """The two commits do not differ, or differ in the opposite direction: the host has changed, or the metric does
    not repeat."""
    OPEN = "open"
    """The largest number of pairs did not decide the comparison."""


class Proof(Strict):
    """A culprit and its parent, measured again interleaved in one session."""

    state: ProofState
    sentence: str
    only_builds: bool = False
    """Whether the proof fails because further builds of one commit, in one or in two folders, differ as much as the two
    commits do."""
    parent_run: UUID
    run: UUID


class Culprit(Strict):
    """A commit that moved the metric."""

    commit: str
    parent: str
    """The commit with which the culprit is compared: the last commit before it that can be measured."""
    before: Number
    """The level of ``parent``."""
    after: Number
    candidates: tuple[str, ...]
    """The culprit, and the commits that measurements in the range cannot distinguish from the culprit. They could
    not be measured, or their branch is older than the range, or changes cancel each other across a merge."""
    branch_change: Number = Field(default=0, validation_alias=AliasChoices("branch_change", "brought"))
    """At a merge: the change that the culprits on the merged branches made there."""
    probability: float = 1.0
    proof: Proof | None = None

    @property
    def own_change(self) -> Number:
        """The change that only this commit explains: for a merge, without the change that its branches made."""
        return self.after - self.before - self.branch_change


class Prove(Strict):
    """Measure these two commits interleaved in one session until their comparison is decided, and send both runs."""

    kind: Literal["prove"] = "prove"
    parent: str
    commit: str
    precision: float | None
    """The smallest relevant change of a noisy metric, in percent; None if the metric is exact."""
    culprits_left: int = Field(validation_alias=AliasChoices("culprits_left", "left"))
    """How many culprits remain to be proven, including this one."""
    culprits: tuple[Culprit, ...]
    """All culprits."""


class Found(Strict):
    """The search has ended: these commits moved the metric, oldest first."""

    kind: Literal["found"] = "found"
    culprits: tuple[Culprit, ...]


class NothingToFind(Strict):
    """The search found no commit, and states the reason: the ends do not differ, or nothing could be proven."""

    kind: Literal["refused"] = "refused"
    sentence: str
    only_builds: bool = False
    """Whether only builds differ: further builds of one commit, in one or in two folders, differ as much."""


Answer = Measure | Prove | Found | NothingToFind


class RequestSummary(Strict):
    """The request of a search, so that the result can be understood on its own."""

    good: str
    bad: str
    host: str
    environment: str
    """Hash of the environment."""
    case: Case
    metric: str
    min_difference: float = Field(validation_alias=AliasChoices("min_difference", "least"))


class Search(Strict):
    """The state of a search."""

    commits: int
    """Number of commits in the range."""
    stored_runs: int = Field(validation_alias=AliasChoices("stored_runs", "known"))
    """Number of stored runs of the range that the search could use."""
    answer: Answer = Field(discriminator="kind")
    request: RequestSummary | None = Field(default=None, validation_alias=AliasChoices("request", "asked"))
