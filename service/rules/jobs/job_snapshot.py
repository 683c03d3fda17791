"""The fields of a job that decide which action is due."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from runner.contract.job import Backend, State


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """The fields of a job that decide which action is due."""

    state: State
    backend: Backend
    changed_at: datetime
    leased_until: datetime | None
    due_at: datetime | None
    """The job is not dispatched before this time."""
    deadline_at: datetime | None
    max_runs: int | None
    runs: int
    fruitless: int
    """How often the job was started since its last new measurement."""
    waits_for_turn: bool = False
    """Whether the process of the job is known to wait for its turn on this machine."""
