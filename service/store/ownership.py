"""Whose jobs may report of what: a subject, or a night, is the repository's whose job told of it first."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.store import shared_rows
from service.store.models import Night, Subject


def foreign(session: Session, repository: str, subjects: Iterable[str]) -> dict[str, str]:
    """Return which subjects are not a repository's, and whose they are; those that are not there yet are nobody's.

    One that was there before any job told of it, and so has no owner, is the repository's of the same name.
    """
    rows = session.execute(select(Subject.name, Subject.repository).where(Subject.name.in_(set(subjects)))).all()
    own = repository.partition("/")[2]
    return {
        name: owner or f"a repository called {name}"
        for name, owner in rows
        if owner != repository and not (owner is None and name.lower() == own)
    }


def claim(session: Session, repository: str, subjects: Iterable[str]) -> None:
    """Make subjects a repository's that are nobody's yet."""
    numbers = shared_rows.subjects(session, subjects)
    for subject in session.scalars(
        select(Subject).where(Subject.id.in_(numbers.values()), Subject.repository.is_(None))
    ):
        subject.repository = repository


def of_night(session: Session, name: str) -> tuple[bool, str | None]:
    """Return whether there is a night of that name, and whose it is."""
    row = session.execute(select(Night.repository).where(Night.name == name)).first()
    return row is not None, row[0] if row else None
