"""The gate of a pull request: head compared with its merge base, case by case, and the service's verdict."""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, StringConstraints, model_validator

from runner.contract.base import CommitHash, Name, Strict
from runner.contract.budget import Budget
from runner.contract.comparison import Comparison, ComparisonRequest
from runner.contract.explanation import Explanation
from runner.contract.judging import MetricName, Percent
from runner.contract.report import Case, Outcome, Report

Repository = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,38}/\.?[A-Za-z0-9_-][A-Za-z0-9._-]{0,98}$")
]
"""A repository on GitHub, ``owner/name``."""
Project = Annotated[
    str,
    StringConstraints(
        pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_.-]*[A-Za-z0-9_-][A-Za-z0-9_.-]*)+$", max_length=130
    ),
]
"""A repository on a forge: ``owner/name``, or on GitLab ``group/subgroup/name``."""


MAX_FILE_CHARACTERS = 1000
"""The longest name of a workload file."""
MAX_CASES = 1000
"""The largest number of cases of one gate."""


class ForgeKind(StrEnum):
    """The software that serves a repository and its pull requests."""

    GITHUB = "github"
    GITLAB = "gitlab"
    FORGEJO = "forgejo"
    """Forgejo, or Gitea."""


class GateVerdict(StrEnum):
    """The verdict on all cases together, the worst first."""

    FAILED = "failed"
    """Head does not build or run, but base does; or nothing could be measured."""
    REGRESSED = "regressed"
    """A metric that counts certainly got worse by more than its budget."""
    UNDECIDED = "undecided"
    """A case could not be measured, or a metric that counts is missing on a side or needs more runs than allowed."""
    CHANGED = "changed"
    """Something changed, and everything that got worse is within its budget."""
    IMPROVED = "improved"
    """Something changed, and nothing got worse."""
    SAME = "same"


class GateCase(Strict):
    """One case: base and head measured interleaved, or the reason why a side could not be measured."""

    base: Report
    head: Report
    judge: tuple[MetricName, ...] = Field(default=(), max_length=100)
    precision: dict[str, Percent] = Field(default_factory=dict)
    budgets: dict[str, Budget] = Field(default_factory=dict)
    file: str = Field(default="", max_length=MAX_FILE_CHARACTERS)
    """The workload file, relative to the repository; empty if it is outside the repository."""
    lines: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """The line of that file with the budget of each metric."""
    base_stored: bool = False
    """Whether base is a stored run and was not measured for this gate."""
    max_pairs: int | None = Field(default=None, ge=1, validation_alias=AliasChoices("max_pairs", "most"))
    """The number of pairs that the workload allows; None if unknown."""
    explanation: Explanation | None = None
    """Why the case got worse; None if it did not, or if explanations are switched off."""
    added: bool = False
    """Whether head adds the case, because the workload file that judges does not contain the case."""

    @model_validator(mode="after")
    def _check_sides(self) -> Self:
        """Check that base and head of a case can be compared."""
        if self.measured:
            self.build_request()  # its model refuses sides that cannot be compared
        elif not self.base.case.is_point_of(self.head.case) or self.base.subject != self.head.subject:
            raise ValueError("base and head must belong to the same subject and case")
        return self

    @property
    def measured(self) -> bool:
        """Whether both sides are measured."""
        return {self.base.outcome, self.head.outcome} == {Outcome.MEASURED}

    def build_request(self, n_cases: int = 1) -> ComparisonRequest:
        """Return the comparison request of this case.

        Parameters
        ----------
        n_cases
            The number of cases that are compared in total.

        Raises
        ------
        ValidationError
            If a side was not measured, or the sides cannot be compared.
        """
        return ComparisonRequest(
            base=self.base,
            head=self.head,
            judge=self.judge,
            precision=self.precision,
            budgets=self.budgets,
            cases=n_cases,
            max_pairs=self.max_pairs,
            base_stored=self.base_stored,
        )


class BaseQuery(Strict):
    """A query for a stored run that can serve as base."""

    subject: Name
    revision: CommitHash
    case: Case
    host: Name
    environment: str = Field(max_length=100)
    """The hash of the environment."""


class BaseAnswer(Strict):
    """The answer to a query for a stored base."""

    report: Report | None
    """The newest run of the base that may be judged; None if there is no such run."""


class JudgeSource(StrEnum):
    """The workload file that says how a gate is judged."""

    TARGET = "target"
    """The workload file of the branch into which head is to be merged."""
    HEAD = "head"
    """The workload file of head, because the branch has no workload file yet."""
    OUTSIDE = "outside"
    """A file outside the repository, or a file that only this work tree has."""


_Item = Annotated[str, StringConstraints(max_length=300)]


class JudgeChange(Strict):
    """A key of the workload file that head changes. The value before the change judges."""

    key: str = Field(max_length=300)
    """The table and the name of the key, such as ``metrics.budget.minor-faults``; ``matrix`` for the cases, and
    ``folder`` for the other files of the workload's folder."""
    before: tuple[_Item, ...] = Field(default=(), max_length=100)
    """The value or the list items in base; for ``matrix``, the cases that head removes. Empty if base has no value."""
    after: tuple[_Item, ...] = Field(default=(), max_length=100)
    """The value or the list items in head; for ``matrix``, the cases that head adds."""


class GateReport(Strict):
    """All measurements of the head of a pull request."""

    forge: ForgeKind = ForgeKind.GITHUB
    """The forge that hosts the repository."""
    repository: Project | None = None
    """The repository on the forge; None if nothing is to be published."""
    pull_request: int | None = Field(default=None, ge=1, lt=2**31)
    """The number of the pull request; None if the job does not know the number. The service then finds the pull
    request by its head."""
    merge_group: bool = False
    """Whether head is a commit of a merge queue. Such a commit contains the pull request and the changes that are
    merged before it."""
    base: CommitHash
    head: CommitHash
    target: CommitHash | None = None
    """The tip of the branch into which head is to be merged; None if unknown."""
    merge: CommitHash | None = None
    """The merge of head into the target, if that merge was measured in head's place because both have several merge
    bases. The merge commit exists only on the host."""
    merge_bases: tuple[CommitHash, ...] = Field(default=(), max_length=1000)
    """The merge bases of head and the target."""
    judged_by: JudgeSource | None = None
    """The origin of the workload file that says how head is judged; None if unknown."""
    changes: tuple[JudgeChange, ...] = Field(default=(), max_length=1000)
    """The changes that head makes to the workload file."""
    cases: tuple[GateCase, ...] = Field(default=(), max_length=MAX_CASES)
    """The cases; empty if there was nothing to measure."""
    caveat: str = Field(default="", max_length=300)
    """What the numbers cannot show, according to the workload file; empty if it contains no caveat."""
    may_be_unmeasured: bool = False
    """Whether the workload allows a gate that could not measure anything to pass."""
    log_url: str = Field(default="", max_length=1000, pattern=r"^(https?://[^\s<>\"()\[\]]+)?$")
    """Address of the log of the CI run that measured."""

    @model_validator(mode="after")
    def _check_revisions(self) -> Self:
        """Check that every case compares the commits of the report."""
        for case in self.cases:
            if (case.base.revision.commit, case.head.revision.commit) != (self.base, self.merge or self.head):
                raise ValueError("every case must be a comparison of the report's base and head")
            if self.merge and case.head.revision.parents != (self.base, self.head):
                raise ValueError("a merge must join the report's base and head")
        return self


class FindingRule(StrEnum):
    """The subject of a finding."""

    NOT_MEASURED = "not-measured"
    """A case, or everything, could not be measured."""
    OVER_BUDGET = "over-budget"
    """A metric certainly got worse by more than its budget."""
    STEP_BY_STEP = "step-by-step"
    """A metric got worse by more than its budget, in steps that each stay within it."""
    JUDGE_CHANGED = "judge-changed"
    """Head changes how it is measured or judged."""
    UNDECIDED = "undecided"
    """A metric that decides is missing on a side, or needs more runs than allowed."""
    WITHIN_BUDGET = "within-budget"
    """A metric got worse, within its budget."""


class GateFinding(Strict):
    """Something in a gate that somebody has to look at. The gate fails if and only if a finding is a failure."""

    rule: FindingRule
    level: Literal["failure", "warning", "notice"]
    case: str = ""
    """Name of the case; empty if the finding is about the whole gate."""
    metric: str = ""
    """Name of the metric; empty if the finding is about the whole case."""
    title: str
    """The title, in one line."""
    message: str
    file: str = ""
    """The source file that causes more faults, if it is known; otherwise the workload file. Relative to the
    repository; empty if it is outside the repository."""
    line: int = Field(default=1, ge=1)
    """The line that causes more faults, or in a workload file the line with the budget of the metric; 1 if there is
    none."""


class GateAnswer(Strict):
    """The service's verdict on a gate report."""

    verdict: GateVerdict
    passed: bool
    """Whether the job should succeed, because no metric exceeds its budget, or somebody accepted the changes."""
    judge: str = ""
    """How head changes the way in which it is measured and judged, and which workload file applied, as sentences; empty
    if neither is unusual."""
    sentence: str
    """The verdict as a sentence."""
    summary: str
    """The text of the comment, as Markdown, for the summary of the job."""
    comparisons: tuple[Comparison | None, ...]
    """The verdict on each case; None if one side was not measured."""
    findings: tuple[GateFinding, ...] = ()
    """The findings that somebody must look at, in the order of the cases."""
