"""Webhooks received from GitHub, and gates to publish there.

Each row is worked off at least once, by one worker at a time. A worker takes a row by moving its due time on. If the
worker is killed, the row falls due again.
"""

from __future__ import annotations

import zlib
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, or_, select, update
from sqlalchemy.orm import Session, contains_eager, joinedload

from runner.contract.gate import GateReport
from service.store.models import GithubDelivery, GithubGate, GithubPull

LEASE = timedelta(minutes=3)
"""How long a taken row belongs to its worker: longer than any work takes, as each call of GitHub times out."""
WITH_PULL = joinedload(GithubGate.pull)
"""Loads the pull request of a gate together with the gate."""


def receive(session: Session, delivery: GithubDelivery) -> bool:
    """Store a delivery; return False where it, or one with the same payload, was received before."""
    known = select(GithubDelivery.id).where(
        or_(GithubDelivery.id == delivery.id, GithubDelivery.digest == delivery.digest)
    )
    if session.scalar(known.limit(1)) is not None:
        return False
    session.add(delivery)
    return True


def take_delivery(session: Session, now: datetime) -> GithubDelivery | None:
    """Take the oldest delivery that is due."""
    delivery = session.scalar(
        select(GithubDelivery).where(GithubDelivery.due_at <= now).order_by(GithubDelivery.received_at).limit(1)
    )
    if delivery is not None:
        delivery.due_at = now + LEASE
        delivery.attempts += 1
    return delivery


def take_gate(session: Session, now: datetime) -> GithubGate | None:
    """Take a gate that is due for publication, and its pull request."""
    gate = session.scalar(
        select(GithubGate)
        .join(GithubGate.pull)
        .options(contains_eager(GithubGate.pull))
        .where(GithubGate.due_at <= now)
        .where(or_(GithubPull.busy_until.is_(None), GithubPull.busy_until <= now))
        .order_by(GithubGate.due_at)
        .limit(1)
    )
    if gate is not None:
        gate.pull.busy_until = now + LEASE
        gate.attempts += 1
    return gate


def next_due(session: Session) -> datetime | None:
    """Return when the next row falls due."""
    delivery = session.scalar(select(func.min(GithubDelivery.due_at)))
    gates = session.execute(
        select(GithubGate.due_at, GithubPull.busy_until).join(GithubGate.pull).where(GithubGate.due_at.is_not(None))
    )
    times = [delivery] if delivery else []
    times += [max(due, busy or due) for due, busy in gates if due]
    return min(times, default=None)


def postpone_all(session: Session, time: datetime) -> None:
    """Let no row fall due before a time: GitHub limits the rate."""
    for table in (GithubDelivery, GithubGate):
        session.execute(update(table).where(table.due_at < time).values(due_at=time))


def get_or_create_gate(session: Session, repository: str, number: int, head: str) -> GithubGate:
    """Return the gate of a head of a pull request; create it where there is none."""
    repository = repository.lower()
    pull = session.scalar(select(GithubPull).where(GithubPull.repository == repository, GithubPull.number == number))
    if pull is None:
        pull = GithubPull(repository=repository, number=number)
        session.add(pull)
        session.flush()
    gate = session.scalar(select(GithubGate).where(GithubGate.pull_id == pull.id, GithubGate.head == head))
    if gate is None:
        gate = GithubGate(pull_id=pull.id, head=head, accepted_reason="", wanted=0, told=0, attempts=0)
        session.add(gate)
    return gate


def find_gate(session: Session, repository: str, number: int, head: str) -> GithubGate | None:
    """Return the gate of a head of a pull request, if it was recorded."""
    query = select(GithubGate).join(GithubPull, GithubGate.pull_id == GithubPull.id)
    of_pull = (GithubPull.repository == repository.lower(), GithubPull.number == number)
    return session.scalar(query.where(*of_pull, GithubGate.head == head))


def pull_request_of(session: Session, repository: str, head: str) -> int | None:
    """Return the number of the pull request recorded with a head; the newest of several."""
    query = (
        select(GithubPull.number)
        .join(GithubGate, GithubGate.pull_id == GithubPull.id)
        .where(GithubPull.repository == repository.lower(), GithubGate.head == head)
    )
    return session.scalar(query.order_by(GithubPull.number.desc()).limit(1))


def store_report(gate: GithubGate, report: GateReport, baselines: dict[str, Any], now: datetime) -> None:
    """Store the report of a gate with the baselines of its series, unless a newer one is stored, and publish it."""
    at = max((case.head.finished_at for case in report.cases), default=now)
    document = zlib.compress(report.model_dump_json().encode())
    if gate.measured_at is not None and (gate.measured_at > at or gate.document == document):
        return
    gate.document, gate.measured_at, gate.baselines = document, at, baselines
    schedule_publication(gate, now)


def accept(gate: GithubGate, author: str, reason: str, now: datetime) -> None:
    """Accept the change of a head, and publish that."""
    if (gate.accepted_by, gate.accepted_reason) != (author, reason):
        gate.accepted_by, gate.accepted_reason = author[:100], reason
        schedule_publication(gate, now)


def schedule_publication(gate: GithubGate, now: datetime) -> None:
    """Make a gate due for publication, if it has a report."""
    if gate.document is not None:
        gate.wanted += 1
        gate.attempts, gate.error = 0, None
        gate.due_at = max(gate.due_at or now, now)


def report_of(gate: GithubGate) -> GateReport:
    """Return the report of a gate that has one."""
    assert gate.document is not None
    return GateReport.model_validate_json(zlib.decompress(gate.document))


def stop_publishing(session: Session, repositories: tuple[str, ...]) -> None:
    """Publish nothing more in repositories that the App was removed from."""
    pulls = select(GithubPull.id).where(GithubPull.repository.in_(repositories))
    session.execute(update(GithubGate).where(GithubGate.pull_id.in_(pulls)).values(due_at=None))
