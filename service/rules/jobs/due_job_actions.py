"""Decides which action is due on a job: to dispatch it, declare it lost, order it again, or give it up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from runner.contract.job import Backend, State
from service.rules.jobs.job_snapshot import JobSnapshot
from service.rules.jobs.job_states import Action
from service.rules.jobs.lost_jobs import describe_loss

MAX_ATTEMPTS = 3
"""How often a job is started if its runner is lost each time without a new measurement."""


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
    if loss := describe_loss(job, now):
        yield DueAction(Action.LOSE, loss)
    if job.backend is Backend.CALLER:
        return  # the caller runs the job, and starts it again on its own
    if job.state is State.LOST and job.fruitless >= MAX_ATTEMPTS:
        yield DueAction(Action.FAIL, f"The job was started {job.fruitless} times without a measurement.")
    if job.state is State.LOST:
        yield DueAction(Action.AGAIN, "The job is ordered again.")
    if job.state is State.QUEUED and (job.due_at is None or now >= job.due_at):
        yield DueAction(Action.DISPATCH, "")
