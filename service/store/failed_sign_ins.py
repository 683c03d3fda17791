"""Failed sign-ins of the last minutes, shared by all processes of the service."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from service.rules.access.throttle import WINDOW
from service.store.models import FailedSignIn


def times(session: Session, now: datetime, address: str | None = None) -> list[datetime]:
    """Return when sign-ins have failed within the window, of one address or of all."""
    query = select(FailedSignIn.at).where(FailedSignIn.at > now - WINDOW)
    return list(session.scalars(query if address is None else query.where(FailedSignIn.address == address)))


def add(session: Session, address: str, now: datetime) -> None:
    """Add one, and delete those that count no longer."""
    session.execute(delete(FailedSignIn).where(FailedSignIn.at <= now - WINDOW))
    session.add(FailedSignIn(address=address, at=now))
