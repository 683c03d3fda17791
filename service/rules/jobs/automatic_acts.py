"""What is to be done about a job by itself: it is lost, too late, over its budget, or to be started. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract.job import Backend, State
from service.rules.jobs.states import Act

MOST_ATTEMPTS = 3
"""How often a job is started, where its runner is lost each time without having measured anything new."""
UNCLAIMED = {Backend.GITHUB: timedelta(hours=24), Backend.LOCAL: timedelta(minutes=2)}
"""How long a runner may take to claim what was dispatched. GitHub itself drops a job that no runner took in a day."""
SERVICE = "service"


@dataclass(frozen=True, slots=True)
class JobSnapshot:
    """What of a job decides what is due."""

    state: State
    backend: Backend
    changed_at: datetime
    leased_until: datetime | None
    due_at: datetime | None
    """Not to be dispatched before this time."""
    deadline_at: datetime | None
    most_runs: int | None
    runs: int
    fruitless: int
    """How often it was started since something was measured for it."""


@dataclass(frozen=True, slots=True)
class AutomaticAct:
    """What is to happen, and why."""

    act: Act
    why: str


def automatic_act(job: JobSnapshot, now: datetime) -> AutomaticAct | None:
    """Return what is to be done about a job now; what follows from that is seen when asked again."""
    return next(_due(job, now), None) if job.state.open else None


def _due(job: JobSnapshot, now: datetime) -> Iterator[AutomaticAct]:
    if job.deadline_at is not None and now >= job.deadline_at:
        yield AutomaticAct(Act.FAIL, "Its deadline has passed.")
    # Where exactly as many were measured as may be, that can have been enough: only its runner knows.
    if job.most_runs is not None and job.runs > job.most_runs:
        yield AutomaticAct(Act.FAIL, f"More was measured for it than its {job.most_runs} runs.")
    if job.state is State.RUNNING and (job.leased_until is None or now >= job.leased_until):
        yield AutomaticAct(Act.LOSE, "Its runner is not heard of any more.")
    patience = UNCLAIMED.get(job.backend)
    if job.state is State.DISPATCHED and patience is not None and now >= job.changed_at + patience:
        yield AutomaticAct(Act.LOSE, "No runner took it.")
    if job.backend is Backend.CALLER:
        return  # who carries out a job of their own comes back by themselves
    if job.state is State.LOST and job.fruitless >= MOST_ATTEMPTS:
        yield AutomaticAct(Act.FAIL, f"It was started {job.fruitless} times, and nothing was measured.")
    if job.state is State.LOST:
        yield AutomaticAct(Act.AGAIN, "It is ordered again.")
    if job.state is State.QUEUED and (job.due_at is None or now >= job.due_at):
        yield AutomaticAct(Act.DISPATCH, "")
