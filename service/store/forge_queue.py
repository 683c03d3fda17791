"""Webhooks received from forges, and gates to publish there.

Each row is processed at least once, by one worker at a time. A worker leases a webhook by postponing its due time,
and a gate by marking its pull request as busy for some time. If the worker is killed, the row falls due again.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, not_, or_, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session, contains_eager, joinedload

from runner.contract.gate import ForgeKind, GateReport
from service.store.engine import bulk
from service.store.models import ForgeDelivery, ForgeGate, ForgePull

LEASE = timedelta(minutes=3)
"""The duration of a worker's lease of a row: longer than any work takes, because each call to GitHub times out."""
_HEADS_PER_QUERY = 500
"""At most this many commits per query, because SQLite limits the number of parameters."""
WITH_PULL = joinedload(ForgeGate.pull)
"""Loads the pull request of a gate together with the gate."""


def store_delivery(session: Session, delivery: ForgeDelivery) -> bool:
    """Store a delivery; return False if it, or one with the same payload, was received before."""
    same_delivery = select(ForgeDelivery.id).where(
        or_(ForgeDelivery.id == delivery.id, ForgeDelivery.digest == delivery.digest)
    )
    if session.scalar(same_delivery.limit(1)) is not None:
        return False
    session.add(delivery)
    return True


def take_delivery(session: Session, now: datetime) -> ForgeDelivery | None:
    """Lease the oldest delivery that is due; None if there is none."""
    delivery = session.scalar(
        select(ForgeDelivery).where(ForgeDelivery.due_at <= now).order_by(ForgeDelivery.received_at).limit(1)
    )
    if delivery is not None:
        delivery.due_at = now + LEASE
        delivery.attempts += 1
    return delivery


def take_gate(session: Session, now: datetime) -> ForgeGate | None:
    """Return the gate that is due for publication first, and lease its pull request; None if there is none."""
    gate = session.scalar(
        select(ForgeGate)
        .join(ForgeGate.pull)
        .options(contains_eager(ForgeGate.pull))
        .where(ForgeGate.due_at <= now)
        .where(or_(ForgePull.busy_until.is_(None), ForgePull.busy_until <= now))
        .order_by(ForgeGate.due_at)
        .limit(1)
    )
    if gate is not None:
        gate.pull.busy_until = now + LEASE
        gate.attempts += 1
    return gate


def find_next_due_time(session: Session) -> datetime | None:
    """Return when the next row falls due; None if no row waits."""
    delivery = session.scalar(select(func.min(ForgeDelivery.due_at)))
    gates = session.execute(
        select(ForgeGate.due_at, ForgePull.busy_until).join(ForgeGate.pull).where(ForgeGate.due_at.is_not(None))
    )
    times = [delivery] if delivery else []
    # A gate has to wait while a worker is busy with its pull request.
    times += [max(due, busy or due) for due, busy in gates if due]
    return min(times, default=None)


def postpone_all_of_forge(session: Session, time: datetime, forge: ForgeKind) -> None:
    """Postpone all rows of a rate-limiting forge until a time."""

    def belongs_to_forge(name: InstrumentedAttribute[str]) -> ColumnElement[bool]:
        """Return the condition that a name belongs to the forge: except for GitHub's, names begin with the forge."""
        return not_(name.contains(":")) if forge is ForgeKind.GITHUB else name.startswith(f"{forge}:")

    pulls = select(ForgePull.id).where(belongs_to_forge(ForgePull.repository))
    for table, condition in (
        (ForgeDelivery, belongs_to_forge(ForgeDelivery.event)),
        (ForgeGate, ForgeGate.pull_id.in_(pulls)),
    ):
        session.execute(update(table).where(table.due_at < time, condition).values(due_at=time))


def get_or_create_gate(session: Session, repository: str, number: int, head: str) -> ForgeGate:
    """Return the gate of a head of a pull request; create it if there is none."""
    repository = repository.lower()
    pull = session.scalar(select(ForgePull).where(ForgePull.repository == repository, ForgePull.number == number))
    if pull is None:
        pull = ForgePull(repository=repository, number=number)
        session.add(pull)
        session.flush()
    gate = session.scalar(select(ForgeGate).where(ForgeGate.pull_id == pull.id, ForgeGate.head == head))
    if gate is None:
        gate = ForgeGate(pull_id=pull.id, head=head, accepted_reason="", wanted=0, told=0, attempts=0)
        session.add(gate)
    return gate


def find_gate(session: Session, repository: str, number: int, head: str) -> ForgeGate | None:
    """Return the gate of a head of a pull request; None if it was not recorded."""
    query = select(ForgeGate).join(ForgePull, ForgeGate.pull_id == ForgePull.id)
    is_of_pull = (ForgePull.repository == repository.lower(), ForgePull.number == number)
    return session.scalar(query.where(*is_of_pull, ForgeGate.head == head))


def find_pull_request(session: Session, repository: str, head: str) -> int | None:
    """Return the number of the newest pull request that was recorded with a head; None if there is none."""
    query = (
        select(ForgePull.number)
        .join(ForgeGate, ForgeGate.pull_id == ForgePull.id)
        .where(ForgePull.repository == repository.lower(), ForgeGate.head == head)
    )
    return session.scalar(query.order_by(ForgePull.number.desc()).limit(1))


def store_report(gate: ForgeGate, report: GateReport, baselines: dict[str, Any], now: datetime) -> None:
    """Store the report of a gate with the baselines of its series, and schedule it.

    Nothing happens if this report or a newer one is stored already.
    """
    finished_at = max((case.head.finished_at for case in report.cases), default=now)
    document = zlib.compress(report.model_dump_json().encode())
    if gate.measured_at is not None and (gate.measured_at > finished_at or gate.document == document):
        return
    gate.document = document
    gate.measured_at = finished_at
    gate.baselines = baselines
    schedule_publication(gate, now)


def schedule_publication(gate: ForgeGate, now: datetime) -> None:
    """Make a gate due for publication, if it has a report."""
    if gate.document is not None:
        gate.wanted += 1  # publishing sets `told` to this version once the forge has it
        gate.attempts = 0
        gate.error = None
        gate.due_at = max(gate.due_at or now, now)


def read_report(gate: ForgeGate) -> GateReport:
    """Return the report of a gate that has one."""
    assert gate.document is not None
    return GateReport.model_validate_json(zlib.decompress(gate.document))


def stop_publishing(session: Session, repositories: tuple[str, ...]) -> None:
    """Cancel all publications in repositories from which the App was removed."""
    pulls = select(ForgePull.id).where(ForgePull.repository.in_(repositories))
    session.execute(update(ForgeGate).where(ForgeGate.pull_id.in_(pulls)).values(due_at=None))


def select_unmerged_heads(session: Session, commits: Collection[str]) -> set[str]:
    """Return the commits that are heads of unmerged pull requests, according to the forges' webhooks."""
    heads: set[str] = set()
    for chunk in bulk.split_into_chunks(sorted(commits), _HEADS_PER_QUERY):
        query = select(ForgeGate.head, ForgeGate.merged_at).where(ForgeGate.head.in_(chunk))
        heads |= {head for head, merged_at in session.execute(query) if merged_at is None}
    return heads
