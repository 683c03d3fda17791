"""Decides whether bisects ordered by the service pause, resume or end.

These bisects measure only on idle hosts. A bisect pauses for any job that a person ordered for its host, and resumes
when the host is idle again. It ends when its event no longer needs one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runner.contract.job import Backend, State
from service.rules.jobs.due_job_actions import DueAction
from service.rules.jobs.job_states import Action

_MAX_START_DELAY = timedelta(minutes=15)
"""A job that its caller has to start takes precedence only for this long, because the caller may never start it."""


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job that has not ended.

    Attributes
    ----------
    host
        The host that runs the job, or the only one that may run it; None for any.
    by_service
        Whether the service ordered it, rather than a person.
    was_paused
        Whether the service has paused it.
    is_withdrawn
        Whether the drift that it explains is no longer found.
    settled_reason
        Why its event no longer needs a bisect; empty if the event does, or if the bisect belongs to no event.
    """

    id: int
    state: State
    backend: Backend
    host: str | None
    created_at: datetime
    by_service: bool
    was_paused: bool = False
    is_withdrawn: bool = False
    settled_reason: str = ""


def decide_actions(jobs: Sequence[OpenJob], is_idle: Callable[[str], bool], now: datetime) -> dict[int, DueAction]:
    """Return the actions that are due on the bisects ordered by the service, by job number.

    Parameters
    ----------
    is_idle
        Returns whether a host is idle, according to its runs.
    """
    actions_by_job: dict[int, DueAction] = {}
    for job in jobs:
        if not job.by_service:
            continue
        pause_reason = _explain_pause(job, jobs, now)
        if job.settled_reason:
            actions_by_job[job.id] = DueAction(Action.CANCEL, job.settled_reason)
        elif pause_reason and job.state is not State.PAUSED:
            actions_by_job[job.id] = DueAction(Action.PAUSE, pause_reason)
        elif job.was_paused and not pause_reason and job.host is not None and is_idle(job.host):
            actions_by_job[job.id] = DueAction(Action.RESUME, "The host is idle again.")
    return actions_by_job


def _explain_pause(job: OpenJob, jobs: Iterable[OpenJob], now: datetime) -> str:
    """Return why a bisect ordered by the service has to pause; empty if it need not."""
    if job.is_withdrawn:
        return "The runs no longer show the drift."
    return "A job that a person requested for the host comes first." if _is_host_wanted(job.host, jobs, now) else ""


def _is_host_wanted(host: str | None, jobs: Iterable[OpenJob], now: datetime) -> bool:
    """Return whether a job that a person ordered runs on a host, or waits for it.

    A bisect that any host may run (None) competes with every such job, and a job that any host may run competes with
    every bisect.
    """
    return any(
        not job.by_service
        and job.state is not State.PAUSED
        and (host is None or job.host in {None, host})
        and (job.backend is not Backend.CALLER or job.state is State.RUNNING or job.created_at > now - _MAX_START_DELAY)
        for job in jobs
    )
