"""Which repository owns a subject or a night: the one whose job first reported about it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store import shared_rows
from service.store.models import Night, Subject


def foreign(session: Session, repository: str, subjects: Iterable[str]) -> dict[str, str]:
    """Return the subjects that another repository owns, with the owner. New subjects have none.

    A subject that was stored before any job reported about it belongs to the repository of the same name.
    """
    rows = session.execute(select(Subject.name, Subject.repository).where(Subject.name.in_(set(subjects)))).all()
    own = repository.partition("/")[2]
    return {
        name: owner or f"a repository called {name}"
        for name, owner in rows
        if owner != repository and not (owner is None and name.lower() == own)
    }


def claim(session: Session, repository: str, subjects: Iterable[str]) -> None:
    """Give the subjects without an owner to a repository."""
    ids = shared_rows.subjects(session, subjects)
    for subject in session.scalars(select(Subject).where(Subject.id.in_(ids.values()), Subject.repository.is_(None))):
        subject.repository = repository


def of_night(session: Session, name: str) -> tuple[bool, str | None]:
    """Return whether there is a night of that name, and its owner."""
    row = session.execute(select(Night.repository).where(Night.name == name)).first()
    return row is not None, row[0] if row else None
