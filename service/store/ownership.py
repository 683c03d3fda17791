"""Stores the repository that owns a subject or a nightly run: the first one whose job reported it and may own it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.rules.access.subject_ownership import may_own_subject
from service.rules.access.token_limits import Patterns
from service.store import shared_rows
from service.store.models import NightlyRun, Subject


def map_foreign_owners(
    session: Session, repository: str, subjects: Iterable[str], assigned_patterns: Patterns | None
) -> dict[str, str | None]:
    """Return the subjects that a repository does not own, with their owners; None for a subject without an owner.

    Parameters
    ----------
    assigned_patterns
        Patterns of the subjects that the repository may own if they have no owner: see
        :func:`service.rules.access.subject_ownership.may_own_subject`.
    """
    names = set(subjects)
    rows = session.execute(select(Subject.name, Subject.repository).where(Subject.name.in_(names))).all()
    owners = {row.name: row.repository for row in rows}
    return {
        name: owners.get(name)
        for name in sorted(names)
        if owners.get(name) != repository
        and (owners.get(name) or not may_own_subject(repository, name, assigned_patterns))
    }


def claim_subjects(session: Session, repository: str, subjects: Iterable[str]) -> None:
    """Make a repository the owner of subjects that have none."""
    ids = shared_rows.ensure_subjects(session, subjects)
    for subject in session.scalars(select(Subject).where(Subject.id.in_(ids.values()), Subject.repository.is_(None))):
        subject.repository = repository


def find_owner_of_nightly_run(session: Session, name: str) -> tuple[bool, str | None]:
    """Return whether there is a nightly run with this name, and its owner."""
    row = session.execute(select(NightlyRun.repository).where(NightlyRun.name == name)).first()
    return row is not None, row.repository if row else None
