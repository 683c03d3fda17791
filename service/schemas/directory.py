"""Models of hosts, environments and cases in lists."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from runner.contract import Outcome
from runner.contract.base import Parameter
from runner.contract.declared_settings import Mismatch
from service.schemas.history import View


class HostEntry(View):
    """A host, described by its newest run."""

    name: str
    labels: list[str]
    runs: int
    """Number of stored runs of the host."""
    last_seen: datetime
    last_run: UUID
    outcome: Outcome
    environment: str
    """Hash of the environment of the newest run."""
    quarantine: str | None
    """The reason why the current runs are not judged; None if they are judged."""
    canary: str | None
    """The count of the canary before the newest session; None if unknown."""
    canary_holds: bool | None
    mismatches: list[Mismatch]


class EnvironmentEntry(View):
    """An environment, with the hosts and times at which it was seen."""

    hash: str
    hosts: list[str]
    runs: int
    first_seen: datetime
    last_seen: datetime
    settings: dict[str, str]


class CaseEntry(View):
    """A case: one workload at one point of its parameter matrix, by one definition."""

    key: str
    name: str
    workload: str
    definition: str
    parameters: dict[str, Parameter]
    series: int
    """Number of series of the case, over all subjects and hosts."""
    last_seen: datetime | None
    """The time of the newest value."""


class Hit(View):
    """A result of a search."""

    kind: str
    title: str
    detail: str
    url: str


class Activity(View):
    """The recent runs of a host."""

    host: str
    runs: int
    run_id: UUID
    """The newest of these runs. The case and the revision are those of this run."""
    case: str
    revision: str
    title: str
    finished_at: datetime
