"""What the service knows of hosts, environments and workloads, as their pages list it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from runner.contract import Outcome
from runner.contract.base import Parameter
from runner.contract.trust import Mismatch
from service.schemas.history import View


class HostEntry(View):
    """A machine, by its newest run."""

    name: str
    labels: list[str]
    runs: int
    """How many runs of it are stored."""
    last_seen: datetime
    last_run: UUID
    outcome: Outcome
    environment: str
    """Hash of the environment of its newest run."""
    quarantine: str | None
    """Why what it measures now is not judged; None where it is."""
    canary: str | None
    """What it counted of the canary before its newest session; None where that is not known."""
    canary_holds: bool | None
    mismatches: list[Mismatch]


class EnvironmentEntry(View):
    """An environment and where it was seen."""

    hash: str
    hosts: list[str]
    runs: int
    first_seen: datetime
    last_seen: datetime
    knobs: dict[str, str]


class CaseEntry(View):
    """A case: one workload at one point of its parameter matrix, by one definition."""

    key: str
    name: str
    workload: str
    definition: str
    parameters: dict[str, Parameter]
    series: int
    """How many series it has, over all subjects and hosts."""
    last_seen: datetime | None
    """When it had a value last."""


class Hit(View):
    """Something that a search found."""

    kind: str
    title: str
    detail: str
    url: str


class Activity(View):
    """What a host has measured lately."""

    host: str
    runs: int
    run_id: UUID
    """The newest of them, as are the case and the revision."""
    case: str
    revision: str
    title: str
    finished_at: datetime
