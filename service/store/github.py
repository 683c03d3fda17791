"""What GitHub told, and what it is still to be told: rows, done at least once, and each by one worker at a time.

A row that is due is taken by moving its time on: whoever takes it and is ended leaves it to be taken again.
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
"""Longer than any work on a row takes: each request to GitHub ends after seconds."""
WITH_PULL = joinedload(GithubGate.pull)
"""Reads a gate's pull request along with it."""


def receive(session: Session, delivery: GithubDelivery) -> bool:
    """Keep a delivery; False where it, or one with the same payload, was taken before."""
    known = select(GithubDelivery.id).where(
        or_(GithubDelivery.id == delivery.id, GithubDelivery.digest == delivery.digest)
    )
    if session.scalar(known.limit(1)) is not None:
        return False
    session.add(delivery)
    return True


def take_delivery(session: Session, now: datetime) -> GithubDelivery | None:
    """Take the oldest delivery that is due."""
    found = session.scalar(
        select(GithubDelivery).where(GithubDelivery.due_at <= now).order_by(GithubDelivery.received_at).limit(1)
    )
    if found is not None:
        found.due_at = now + LEASE
        found.attempts += 1
    return found


def take_gate(session: Session, now: datetime) -> GithubGate | None:
    """Take a gate that GitHub is to be told of, and its pull request with it."""
    found = session.scalar(
        select(GithubGate)
        .join(GithubGate.pull)
        .options(contains_eager(GithubGate.pull))
        .where(GithubGate.due_at <= now)
        .where(or_(GithubPull.busy_until.is_(None), GithubPull.busy_until <= now))
        .order_by(GithubGate.due_at)
        .limit(1)
    )
    if found is not None:
        found.pull.busy_until = now + LEASE
        found.attempts += 1
    return found


def next_due(session: Session) -> datetime | None:
    """Return when the next row can be taken."""
    delivery = session.scalar(select(func.min(GithubDelivery.due_at)))
    gates = session.execute(
        select(GithubGate.due_at, GithubPull.busy_until).join(GithubGate.pull).where(GithubGate.due_at.is_not(None))
    )
    times = [delivery] if delivery else []
    times += [max(due, busy or due) for due, busy in gates if due]
    return min(times, default=None)


def wait_until(session: Session, time: datetime) -> None:
    """Leave GitHub alone until a time: it asked for that."""
    for kind in (GithubDelivery, GithubGate):
        session.execute(update(kind).where(kind.due_at < time).values(due_at=time))


def gate(session: Session, repository: str, number: int, head: str) -> GithubGate:
    """Return the gate of a head of a pull request; a new one where there is none yet."""
    repository = repository.lower()
    pull = session.scalar(select(GithubPull).where(GithubPull.repository == repository, GithubPull.number == number))
    if pull is None:
        pull = GithubPull(repository=repository, number=number)
        session.add(pull)
        session.flush()
    found = session.scalar(select(GithubGate).where(GithubGate.pull_id == pull.id, GithubGate.head == head))
    if found is None:
        found = GithubGate(pull_id=pull.id, head=head, accepted_reason="", wanted=0, told=0, attempts=0)
        session.add(found)
    return found


def find_gate(session: Session, repository: str, number: int, head: str) -> GithubGate | None:
    """Return the gate of a head of a pull request, if anything is known of it."""
    wanted = select(GithubGate).join(GithubPull, GithubGate.pull_id == GithubPull.id)
    of_pull = (GithubPull.repository == repository.lower(), GithubPull.number == number)
    return session.scalar(wanted.where(*of_pull, GithubGate.head == head))


def number_of(session: Session, repository: str, head: str) -> int | None:
    """Return the pull request that has a head, as far as it was told; the newest of several."""
    found = (
        select(GithubPull.number)
        .join(GithubGate, GithubGate.pull_id == GithubPull.id)
        .where(GithubPull.repository == repository.lower(), GithubGate.head == head)
    )
    return session.scalar(found.order_by(GithubPull.number.desc()).limit(1))


def measured(found: GithubGate, report: GateReport, baselines: dict[str, Any], now: datetime) -> None:
    """Keep what was measured, with the baselines of its series, unless something newer was, and have GitHub told."""
    at = max((case.head.finished_at for case in report.cases), default=now)
    document = zlib.compress(report.model_dump_json().encode())
    if found.measured_at is not None and (found.measured_at > at or found.document == document):
        return
    found.document, found.measured_at, found.baselines = document, at, baselines
    tell(found, now)


def accept(found: GithubGate, by: str, reason: str, now: datetime) -> None:
    """Accept what a head changes, and have GitHub told."""
    if (found.accepted_by, found.accepted_reason) != (by, reason):
        found.accepted_by, found.accepted_reason = by[:100], reason
        tell(found, now)


def tell(found: GithubGate, now: datetime) -> None:
    """Have GitHub told of a gate, where there is something to tell."""
    if found.document is not None:
        found.wanted += 1
        found.attempts, found.error = 0, None
        found.due_at = max(found.due_at or now, now)


def report_of(found: GithubGate) -> GateReport:
    """Return what was measured."""
    assert found.document is not None
    return GateReport.model_validate_json(zlib.decompress(found.document))


def forget(session: Session, repositories: tuple[str, ...]) -> None:
    """Tell nothing more of repositories that the App was taken from."""
    pulls = select(GithubPull.id).where(GithubPull.repository.in_(repositories))
    session.execute(update(GithubGate).where(GithubGate.pull_id.in_(pulls)).values(due_at=None))
