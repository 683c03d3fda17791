"""The figures with which operators monitor the service; each query takes constant time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, text
from sqlalchemy.orm import Session

from runner.contract import Outcome
from runner.contract.job import State
from service.rules.events.lifecycle import CLOSED
from service.store.models import DeliveryRow, DriftRow, Event, ForgeDelivery, ForgeGate, Host, Job, Run, RunCount
from service.store.series.series import SELECT_STALE_SERIES

_SIZE_QUERIES = {
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()",
    "postgresql": "SELECT pg_database_size(current_database())",
}


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the service at one moment."""

    runs: Mapping[tuple[Outcome, bool], int]
    """Number of runs by outcome and quarantine."""
    last_runs: Mapping[str, datetime]
    """Start of the newest run of each host."""
    jobs: Mapping[State, int]
    queued_since: datetime | None
    """When the longest-waiting job was ordered; None if no job is waiting."""
    drifts: int
    """Drifts without a closed event."""
    unjudged: int
    """Series that are waiting to be judged."""
    messages: Mapping[str, int]
    """Messages still to be sent, by receiver: channels or forges."""
    pending_webhooks: int
    """Webhooks received from forges and not handled yet."""
    size: int
    """Size of the database in bytes; for SQLite, without the write-ahead log."""


def read_figures(session: Session) -> Figures:
    """Return the current figures."""
    counts = select(RunCount.outcome, RunCount.quarantined, func.sum(RunCount.runs))
    # Host by host, because the newest run of each host is the last in an index; GROUP BY would read all runs.
    newest_start = select(func.max(Run.started_at)).where(Run.host_id == Host.id).correlate(Host).scalar_subquery()
    jobs = select(Job.state, func.count().label("jobs")).group_by(Job.state)
    closed_events = select(Event.id).where(Event.state.in_(CLOSED))

    def count(condition: ColumnElement[bool]) -> int:
        """Return how many rows of the condition's table satisfy it."""
        return session.scalar(select(func.count()).where(condition)) or 0

    return Figures(
        runs={
            (outcome, quarantined): runs
            for outcome, quarantined, runs in session.execute(counts.group_by(RunCount.outcome, RunCount.quarantined))
        },
        last_runs={name: at for name, at in session.execute(select(Host.name, newest_start).order_by(Host.name)) if at},
        jobs={row.state: row.jobs for row in session.execute(jobs)},
        queued_since=session.scalar(select(func.min(Job.created_at)).where(Job.state == State.QUEUED)),
        drifts=count(DriftRow.event_id.is_(None) | DriftRow.event_id.not_in(closed_events)),
        unjudged=session.scalar(select(func.count()).select_from(SELECT_STALE_SERIES.subquery())) or 0,
        messages={
            # A message has a row for each of its events.
            "channels": session.scalar(
                select(func.count(DeliveryRow.message_id.distinct())).where(DeliveryRow.sent_at.is_(None))
            )
            or 0,
            "forges": count(ForgeGate.due_at.is_not(None)) + count(Job.post_at.is_not(None)),
        },
        pending_webhooks=count(ForgeDelivery.due_at.is_not(None)),
        size=session.scalar(text(_SIZE_QUERIES[session.get_bind().dialect.name])) or 0,
    )
