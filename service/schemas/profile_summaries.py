"""Models of profiles without their stacks, for lists and the heads of pages."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from runner.contract import Case, Revision
from runner.contract.diagnosis import Diagnosis
from runner.contract.profile import AllocatingLine, Anatomy, Census, ProfileScope, PythonLine, StackKind
from service.schemas.history import View


class StackHead(View):
    """A stack profile without its stacks."""

    kind: StackKind
    samples: int
    period: int
    total: int
    lost: int
    call_graph: str
    stacks: int
    """Number of different stacks."""


class ProfileWithoutStacks(View):
    """A profile without its stacks and readings, with its diagnosis."""

    profile_id: UUID
    subject: str
    revision: Revision
    case: Case
    host: str
    environment: str
    """Hash of the environment."""
    runner_version: str
    started_at: datetime
    finished_at: datetime
    scope: ProfileScope
    processes: int
    operations: float | None
    overhead_percent: float | None
    kinds: list[StackHead]
    anatomy: Anatomy | None
    census: Census | None
    python_lines: tuple[PythonLine, ...] = ()
    """The lines of a Python program with the most faults."""
    java_lines: tuple[AllocatingLine, ...] = ()
    """The lines of a Java program that allocate most."""
    remarks: list[str]
    diagnosis: Diagnosis
    seconds_per_fault: float | None = None
    """Average CPU time of one fault; None if the time was not measured."""

    @property
    def faults(self) -> int | None:
        """Number of faults; None if they were not recorded."""
        return self.anatomy.counted if self.anatomy else None


class ProfileSummary(View):
    """A profile in a list."""

    profile_id: UUID
    subject: str
    host: str
    case: str
    revision: str
    title: str
    environment: str
    started_at: datetime
    faults: int | None
    diagnosis: list[str]
    """The rules that apply, the weightiest first."""


class ProfileList(View):
    """A page of profiles, the newest first."""

    items: list[ProfileSummary]
    total: int
    limit: int
    offset: int


class ProfileReceipt(View):
    """The acknowledgement of a profile."""

    profile_id: UUID
    created: bool
    """False if the service already had this profile."""
