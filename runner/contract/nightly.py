"""Nightly runs: every workload in every configuration on every host, with the results, and what did not run and why."""

from enum import StrEnum
from uuid import UUID

from pydantic import AliasChoices, Field

from runner.contract.base import CommitHash, Line, Moment, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case

NightlyName = Name
"""Name of a nightly run: a date, or the number of a CI run."""
MAX_CELLS = 10_000
"""The largest number of cells of one nightly run."""


class NightlyCell(Strict):
    """One workload in one configuration on one host: planned, or already run by the host."""

    host: Name
    configuration: Name
    workload: Line
    """The name of the workload in the matrix file."""
    carried_out: bool = False
    """Whether the host has run the cell."""
    subject: Name | None = None
    revision: CommitHash | None = None
    cases: tuple[Case, ...] = Field(default=(), max_length=10_000)
    problem: Line = ""
    """The reason why no case could be measured; empty if a case was measured."""
    attempts: int = Field(default=1, ge=1, le=100)
    """The number of times that failed cases were tried."""

    @property
    def place(self) -> tuple[str, str, str]:
        """The key of the cell within its nightly run."""
        return self.host, self.configuration, self.workload


class NightlyPart(Strict):
    """Cells of a nightly run: all planned cells, or those that one host has run."""

    cells: tuple[NightlyCell, ...] = Field(max_length=MAX_CELLS)


class CaseState(StrEnum):
    """The result of a case."""

    MEASURED = "measured"
    FAILED = "failed"
    """The program or its build failed."""
    SKIPPED = "skipped"
    """This host cannot measure the case."""
    QUARANTINED = "quarantined"
    """Measured by a host that counted incorrectly."""
    MISSING = "missing"
    """No report has arrived."""


class NightlyCase(Strict):
    """One case of a cell."""

    name: str
    state: CaseState
    reason: str = Field(default="", validation_alias=AliasChoices("reason", "why"))
    run_id: UUID | None = None


class CellDigest(Strict):
    """The result of a cell of a nightly run."""

    host: str
    configuration: str
    workload: str
    carried_out: bool
    problem: str
    attempts: int
    cases: tuple[NightlyCase, ...]


class NightlyDrift(Strict):
    """A drift that this nightly run is the first to show."""

    id: str
    host: str
    case: str
    metric: str
    cause: str
    direction: str
    revision: CommitHash
    title: str
    """Title of the commit that caused it, if only one commit is possible; otherwise the settings that changed, if
    any."""
    before: Number
    after: Number

    @property
    def blamed(self) -> str:
        """The cause in words: the settings, the commit if only one is possible, or the last possible commit."""
        if self.title and self.cause == "config":
            return f"{self.title} at {self.revision[:10]}"
        if self.title:
            return f"{self.revision[:10]} {self.title}"
        commit = self.revision[:10]
        return f"a commit up to {commit}" if self.cause in {"commit", "both"} else f"at {commit}"


class NightlyDigest(Strict):
    """The digest of a nightly run."""

    name: NightlyName
    started_at: Moment
    complete: bool
    """Whether all planned cells are measured."""
    sentence: str
    absent_hosts: tuple[str, ...] = Field(validation_alias=AliasChoices("absent_hosts", "absent"))
    """Hosts that did not report."""
    cells: tuple[CellDigest, ...]
    drifts: tuple[NightlyDrift, ...]
