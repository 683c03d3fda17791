"""Subjects and their settings."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.schemas.triage import BisectPolicy, SubjectEntry, SubjectList
from service.store import shared_rows
from service.store.models import Subject

_BY_NAME = select(Subject).order_by(Subject.name)


def list_subjects(session: Session) -> list[SubjectEntry]:
    """Return all subjects, by name."""
    return [_build_view(row) for row in session.scalars(_BY_NAME)]


def list_page(session: Session, limit: int, offset: int) -> SubjectList:
    """Return a page of the subjects, by name."""
    total = session.scalar(select(func.count()).select_from(Subject)) or 0
    rows = session.scalars(_BY_NAME.limit(limit).offset(offset))
    return SubjectList(items=[_build_view(row) for row in rows], total=total, limit=limit, offset=offset)


def find_subject_entry(session: Session, name: str) -> SubjectEntry | None:
    """Return the subject with this name; None if there is none."""
    row = shared_rows.find_subject(session, name)
    return None if row is None else _build_view(row)


def set_bisect_policy(session: Session, name: str, policy: BisectPolicy) -> SubjectEntry | None:
    """Set what happens to drifts of a subject with several candidates; return None if the subject is unknown."""
    row = shared_rows.find_subject(session, name)
    if row is None:
        return None
    row.bisect_policy = policy
    return _build_view(row)


def list_subjects_to_bisect(session: Session) -> list[str]:
    """Return the subjects for whose drifts the service orders bisects, and whose events are up to date."""
    is_up_to_date = Subject.events_version == Subject.drifts_version
    bisects_automatically = Subject.bisect_policy == BisectPolicy.DO
    return list(
        session.scalars(select(Subject.name).where(bisects_automatically, is_up_to_date).order_by(Subject.name))
    )


def map_bisect_policies(session: Session, names: Iterable[str]) -> dict[str, BisectPolicy]:
    """Return the policies of subjects, by name."""
    rows = session.execute(select(Subject.name, Subject.bisect_policy).where(Subject.name.in_(set(names))))
    return dict(rows.all())


def _build_view(row: Subject) -> SubjectEntry:
    return SubjectEntry(name=row.name, repository=row.repository, bisect_policy=row.bisect_policy)
