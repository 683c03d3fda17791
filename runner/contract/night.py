"""A night: every workload in every configuration on every host, what came of each, and what did not run and why."""

from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import Field, StringConstraints

from runner.contract.base import CommitHash, Moment, Name, Strict
from runner.contract.level import Number
from runner.contract.report import Case

Words = Annotated[str, StringConstraints(max_length=1000)]
NightName = Name
"""What a night is called: a date, or the number of a CI run."""


class NightCell(Strict):
    """One workload in one configuration on one host: as it is planned, and later as its host has carried it out."""

    host: Name
    configuration: Name
    workload: Words
    """As the matrix file names it."""
    carried_out: bool = False
    """Whether its host has been at it."""
    subject: Name | None = None
    revision: CommitHash | None = None
    cases: tuple[Case, ...] = Field(default=(), max_length=10_000)
    problem: Words = ""
    """Why nothing could be measured at all; empty where cases were."""
    attempts: int = Field(default=1, ge=1, le=100)
    """How often its broken cases were tried."""

    @property
    def place(self) -> tuple[str, str, str]:
        """What tells it from other cells of its night."""
        return self.host, self.configuration, self.workload


class NightPart(Strict):
    """Cells of a night: all of them as planned, or those of one host as carried out."""

    cells: tuple[NightCell, ...] = Field(max_length=10_000)


class CaseState(StrEnum):
    """What came of one case."""

    MEASURED = "measured"
    FAILED = "failed"
    """The program or its build is to blame."""
    SKIPPED = "skipped"
    """This host cannot measure it."""
    QUARANTINED = "quarantined"
    """Measured by a host that counted wrong."""
    MISSING = "missing"
    """No report of it has arrived."""


class NightCase(Strict):
    """One case of a cell."""

    name: str
    state: CaseState
    why: str = ""
    run_id: UUID | None = None


class CellDigest(Strict):
    """One cell of a night."""

    host: str
    configuration: str
    workload: str
    carried_out: bool
    problem: str
    attempts: int
    cases: tuple[NightCase, ...]


class NightDrift(Strict):
    """A drift that begins at a revision that was measured in this night."""

    id: str
    host: str
    case: str
    metric: str
    cause: str
    direction: str
    revision: CommitHash
    title: str
    before: Number
    after: Number


class NightDigest(Strict):
    """A night, told."""

    night: NightName
    started_at: Moment
    complete: bool
    """Whether all that was planned is measured."""
    sentence: str
    absent: tuple[str, ...]
    """Hosts that did not show up."""
    cells: tuple[CellDigest, ...]
    drifts: tuple[NightDrift, ...]
