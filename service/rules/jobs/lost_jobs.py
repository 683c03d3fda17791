"""Decides when a job is lost: its runner sends no heartbeats, or no runner claimed it."""

from __future__ import annotations

from datetime import datetime, timedelta

from runner.contract.job import Backend, State
from service.rules.jobs.job_snapshot import JobSnapshot

CLAIM_TIMEOUTS = {Backend.GITHUB: timedelta(hours=24), Backend.LOCAL: timedelta(minutes=2)}
"""How long a runner may take to claim a dispatched job; GitHub drops a job that no runner takes within a day."""


def describe_loss(job: JobSnapshot, now: datetime) -> str:
    """Return why a job is lost now; empty if it is not: a job whose process waits for its turn is never lost."""
    if job.state is State.RUNNING and (job.leased_until is None or now >= job.leased_until):
        return "The runner stopped sending heartbeats."
    claim_timeout = CLAIM_TIMEOUTS.get(job.backend)
    may_be_unclaimed = job.state is State.DISPATCHED and not job.waits_for_turn
    if may_be_unclaimed and claim_timeout is not None and now >= job.changed_at + claim_timeout:
        return "No runner claimed the job."
    return ""
