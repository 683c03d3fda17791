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
    closed_events = select(Event.id).where(Event.state.in_(CLOSED))
    return Figures(
        runs=_count_runs(session),
        last_runs=_read_last_runs(session),
        jobs=_count_jobs(session),
        queued_since=session.scalar(select(func.min(Job.created_at)).where(Job.state == State.QUEUED)),
        drifts=_count_rows(session, DriftRow.event_id.is_(None) | DriftRow.event_id.not_in(closed_events)),
        unjudged=session.scalar(select(func.count()).select_from(SELECT_STALE_SERIES.subquery())) or 0,
        messages=_count_unsent_messages(session),
        pending_webhooks=_count_rows(session, ForgeDelivery.due_at.is_not(None)),
        size=session.scalar(text(_SIZE_QUERIES[session.get_bind().dialect.name])) or 0,
    )


def _count_rows(session: Session, condition: ColumnElement[bool]) -> int:
    """Return how many rows of the condition's table satisfy it."""
    return session.scalar(select(func.count()).where(condition)) or 0


def _count_runs(session: Session) -> dict[tuple[Outcome, bool], int]:
    """Return the number of runs by outcome and quarantine."""
    counts = select(RunCount.outcome, RunCount.quarantined, func.sum(RunCount.runs))
    rows = session.execute(counts.group_by(RunCount.outcome, RunCount.quarantined))
    return {(outcome, is_quarantined): runs for outcome, is_quarantined, runs in rows}


def _read_last_runs(session: Session) -> dict[str, datetime]:
    """Return the start of the newest run of each host that has any."""
    # Host by host, because the newest run of each host is the last in an index; GROUP BY would read all runs.
    newest_start = select(func.max(Run.started_at)).where(Run.host_id == Host.id).correlate(Host).scalar_subquery()
    rows = session.execute(select(Host.name, newest_start).order_by(Host.name))
    return {name: started_at for name, started_at in rows if started_at}


def _count_jobs(session: Session) -> dict[State, int]:
    """Return the number of jobs by state."""
    rows = session.execute(select(Job.state, func.count().label("jobs")).group_by(Job.state))
    return {row.state: row.jobs for row in rows}


def _count_unsent_messages(session: Session) -> dict[str, int]:
    """Return the number of messages still to be sent, by receiver."""
    # A message to a channel has a row for each of its events.
    unsent_messages = select(func.count(DeliveryRow.message_id.distinct())).where(DeliveryRow.sent_at.is_(None))
    n_gate_results = _count_rows(session, ForgeGate.due_at.is_not(None))
    n_job_results = _count_rows(session, Job.post_at.is_not(None))
    return {"channels": session.scalar(unsent_messages) or 0, "forges": n_gate_results + n_job_results}
