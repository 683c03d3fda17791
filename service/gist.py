"""What is told of a profile without its stacks: all that a list or the head of a page needs. Pure."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from runner.contract import Case, Revision
from runner.contract.diagnosis import Diagnosis, DiagnosisRequest
from runner.contract.profile import Anatomy, Census, Profile, StackKind
from service.diagnose import diagnose
from service.views import View


class StackHead(View):
    """A stack profile without its stacks."""

    kind: StackKind
    samples: int
    period: int
    total: int
    lost: int
    call_graph: str
    stacks: int
    """How many different ones there are."""


class ProfileGist(View):
    """A profile without its stacks and readings, and what it shows."""

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
    scope: Literal["region", "process"]
    processes: int
    operations: float | None
    overhead_percent: float | None
    kinds: list[StackHead]
    anatomy: Anatomy | None
    census: Census | None
    remarks: list[str]
    diagnosis: Diagnosis

    @property
    def faults(self) -> int | None:
        """How many there were; None where they were not recorded."""
        return self.anatomy.counted if self.anatomy else None


class ProfileSummary(View):
    """One profile in a list."""

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
    """The rules that hold, the weightiest first."""


class ProfileList(View):
    """A page of profiles, the newest first."""

    items: list[ProfileSummary]
    total: int
    limit: int
    offset: int


class ProfileReceipt(View):
    """What became of a profile that was sent."""

    profile_id: UUID
    created: bool
    """False where the service already had this very profile."""


def gist(profile: Profile) -> ProfileGist:
    """Return what is told of a profile without its stacks."""
    told = profile.model_dump(
        include={"profile_id", "subject", "runner_version", "started_at", "finished_at", "scope", "processes"}
    )
    return ProfileGist(
        **told,
        revision=profile.revision,
        case=profile.case,
        host=profile.host.name,
        environment=profile.environment.hash,
        operations=profile.operations,
        overhead_percent=profile.overhead_percent,
        kinds=[
            StackHead(
                kind=one.kind,
                samples=one.samples,
                period=one.period,
                total=one.total,
                lost=one.lost,
                call_graph=one.call_graph,
                stacks=len(one.stacks),
            )
            for one in profile.stack_profiles
        ],
        anatomy=profile.anatomy,
        census=profile.census,
        remarks=list(profile.remarks),
        diagnosis=diagnose(DiagnosisRequest(profile=profile)),
    )


def summary(told: ProfileGist) -> ProfileSummary:
    """Return a line of a list."""
    return ProfileSummary(
        profile_id=told.profile_id,
        subject=told.subject,
        host=told.host,
        case=told.case.name,
        revision=told.revision.commit,
        title=told.revision.title,
        environment=told.environment,
        started_at=told.started_at,
        faults=told.faults,
        diagnosis=[finding.rule for finding in told.diagnosis.findings],
    )
