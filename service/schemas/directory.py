"""Models of hosts, environments and cases as their pages list them."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from runner.contract import Outcome
from runner.contract.base import Parameter
from runner.contract.trust import Mismatch
from service.schemas.history import View


class HostEntry(View):
    """A host, described by its newest run."""

    name: str
    labels: list[str]
    runs: int
    """Number of its stored runs."""
    last_seen: datetime
    last_run: UUID
    outcome: Outcome
    environment: str
    """Hash of the environment of its newest run."""
    quarantine: str | None
    """Why its current runs are not judged; None if they are judged."""
    canary: str | None
    """The count of the canary before its newest session; None if it is unknown."""
    canary_holds: bool | None
    mismatches: list[Mismatch]


class EnvironmentEntry(View):
    """An environment, and the hosts and times at which it was seen."""

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
    """Number of its series, over all subjects and hosts."""
    last_seen: datetime | None
    """When it last had a value."""


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
    """The newest of these runs, to which the case and the revision belong as well."""
    case: str
    revision: str
    title: str
    finished_at: datetime
