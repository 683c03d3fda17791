"""Decides which action is due on a job: to dispatch it, declare it lost, order it again, or give it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract.job import Backend, State
from service.rules.jobs.job_states import Action

MAX_ATTEMPTS = 3
"""How often a job is started if its runner is lost each time without a new measurement."""
CLAIM_TIMEOUTS = {Backend.GITHUB: timedelta(hours=24), Backend.LOCAL: timedelta(minutes=2)}
"""How long a runner may take to claim a dispatched job; GitHub drops a job that no runner takes within a day."""


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


@dataclass(frozen=True, slots=True)
class DueAction:
    """An action that is due, and the reason."""

    action: Action
    reason: str


def find_due_action(job: JobSnapshot, now: datetime) -> DueAction | None:
    """Return the action that is due on a job now; None if none is. What follows from it is due at a later call."""
    return next(_list_due_actions(job, now), None) if job.state.open else None


def _list_due_actions(job: JobSnapshot, now: datetime) -> Iterator[DueAction]:
    """Yield the actions that are due on a job, most urgent first; only the first one is applied."""
    if job.deadline_at is not None and now >= job.deadline_at:
        yield DueAction(Action.FAIL, "The deadline has passed.")
    # If the job used exactly the allowed number of runs, they may have been enough, which only the runner knows.
    if job.max_runs is not None and job.runs > job.max_runs:
        yield DueAction(Action.FAIL, f"The job measured more runs than allowed ({job.max_runs}).")
    if job.state is State.RUNNING and (job.leased_until is None or now >= job.leased_until):
        yield DueAction(Action.LOSE, "The runner stopped sending heartbeats.")
    claim_timeout = CLAIM_TIMEOUTS.get(job.backend)
    if job.state is State.DISPATCHED and claim_timeout is not None and now >= job.changed_at + claim_timeout:
        yield DueAction(Action.LOSE, "No runner claimed the job.")
    if job.backend is Backend.CALLER:
        return  # the caller runs the job, and starts it again on its own
    if job.state is State.LOST and job.fruitless >= MAX_ATTEMPTS:
        yield DueAction(Action.FAIL, f"The job was started {job.fruitless} times without a measurement.")
    if job.state is State.LOST:
        yield DueAction(Action.AGAIN, "The job is ordered again.")
    if job.state is State.QUEUED and (job.due_at is None or now >= job.due_at):
        yield DueAction(Action.DISPATCH, "")
