"""Stores who accepted the change of a pull request; a commit of a merge queue inherits it from the pull request."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store.forge_queue import read_report, schedule_publication
from service.store.models import ForgeGate

_MAX_AUTHOR_CHARACTERS = 100
"""The width of the column of authors."""


def accept_head(gate: ForgeGate, author: str, reason: str, now: datetime) -> None:
    """Accept the change of a head, and schedule the publication of this decision; the same decision is not repeated."""
    author = author[:_MAX_AUTHOR_CHARACTERS]
    if (gate.accepted_by, gate.accepted_reason) != (author, reason):
        gate.accepted_by = author
        gate.accepted_reason = reason
        schedule_publication(gate, now)


def accept_merge_queue_commit(session: Session, gate: ForgeGate) -> None:
    """Accept a commit of a merge queue if the newest head of its pull request, whose change it has, is accepted."""
    query = select(ForgeGate).where(ForgeGate.pull_id == gate.pull_id, ForgeGate.id != gate.id)
    for gate_of_pull in session.scalars(query.order_by(ForgeGate.id.desc())):
        if gate_of_pull.document is not None and read_report(gate_of_pull).merge_group:
            continue  # another commit of the merge queue, not a head
        if gate_of_pull.accepted_by and not gate.accepted_by:
            gate.accepted_by = gate_of_pull.accepted_by
            gate.accepted_reason = gate_of_pull.accepted_reason
        return
