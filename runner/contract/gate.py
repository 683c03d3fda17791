"""The gate of a pull request: head beside its merge base, case by case, and what the service makes of it."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints, model_validator

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.budget import Budget
from runner.contract.comparison import Comparison, ComparisonRequest, Percent
from runner.contract.report import Case, Outcome, Report

Repository = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$")
]
"""A repository on GitHub, ``owner/name``."""


class GateVerdict(StrEnum):
    """What is known about all cases together, the worst first."""

    FAILED = "failed"
    """Head does not build or does not run where its base does."""
    REGRESSED = "regressed"
    """A metric that counts has become worse by more than its budget."""
    UNDECIDED = "undecided"
    """A case could not be measured, or a metric that counts needs more runs than the workload allows."""
    CHANGED = "changed"
    """Something has changed, and all that became worse is within its budget."""
    IMPROVED = "improved"
    """Something has changed, and nothing for the worse."""
    SAME = "same"


class GateCase(Strict):
    """One case: base and head measured in turns, or the reason why one of them could not be."""

    base: Report
    head: Report
    precision: dict[str, Percent] = Field(default_factory=dict)
    budgets: dict[str, Budget] = Field(default_factory=dict)
    file: str = Field(default="", max_length=1000)
    """The workload file, from the top of the repository; empty where it lies elsewhere."""
    lines: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """The line of that file that sets a metric's budget."""
    base_stored: bool = False
    """Whether base was not measured for this, since the same was measured before."""

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if self.measured:
            self.request()
        elif self.base.case != self.head.case or self.base.subject != self.head.subject:
            raise ValueError("base and head have to be of one subject and one case")
        return self

    @property
    def measured(self) -> bool:
        """Whether both sides are."""
        return {self.base.outcome, self.head.outcome} == {Outcome.MEASURED}

    def request(self) -> ComparisonRequest:
        """Return what the service is asked about this case, where both sides are measured."""
        return ComparisonRequest(
            base=self.base,
            head=self.head,
            precision=self.precision,
            budgets=self.budgets,
            base_stored=self.base_stored,
        )


class BaseQuery(Strict):
    """Which run would do for base."""

    subject: Name
    revision: CommitHash
    case: Case
    host: Name
    environment: str = Field(max_length=100)
    """Its hash."""


class BaseAnswer(Strict):
    """What is stored."""

    report: Report | None
    """The newest such run that may be judged; None where there is none."""


class GateReport(Strict):
    """All that was measured for the head of a pull request; sent once it is."""

    repository: Repository | None = None
    """None where nobody on GitHub is to be told."""
    pull_request: int | None = Field(default=None, ge=1, lt=2**31)
    """None where the job was not told; the service knows the pull request by its head."""
    base: CommitHash
    head: CommitHash
    cases: tuple[GateCase, ...] = Field(default=(), max_length=1000)
    """None where there was nothing to measure."""
    log_url: str = Field(default="", max_length=1000, pattern=r"^(https?://[^\s<>\"()\[\]]+)?$")
    """Where the run that measured can be looked at."""

    @model_validator(mode="after")
    def _of_these_revisions(self) -> Self:
        for case in self.cases:
            if (case.base.revision.commit, case.head.revision.commit) != (self.base, self.head):
                raise ValueError("every case has to be measured of the report's base and head")
        return self


class GateAnswer(Strict):
    """What the service makes of it."""

    verdict: GateVerdict
    passed: bool
    """Whether the job is to succeed: nothing is over its budget, or somebody accepted that."""
    sentence: str
    """The verdict in words."""
    summary: str
    """The same as the comment, as Markdown, for the summary of the job."""
    comparisons: tuple[Comparison | None, ...]
    """The verdict about each case; None where one side was not measured."""
