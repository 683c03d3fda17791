"""The visits of readers who signed in."""

from __future__ import annotations

from sqlalchemy.orm import Session

from service.rules.events.visit import Visit
from service.store.models import VisitRow


def find(session: Session, token_id: str) -> Visit | None:
    """Return the stored visit of a reader."""
    row = session.get(VisitRow, token_id)
    return None if row is None else Visit(row.since, row.seen_at)


def store(session: Session, token_id: str, visit: Visit) -> None:
    """Store the visit of a reader."""
    session.merge(VisitRow(token_id=token_id, since=visit.since, seen_at=visit.seen_at))
