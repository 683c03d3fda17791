"""Environments, and where each was seen."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.schemas.directory import EnvironmentEntry
from service.store.models import Environment, Host, Run

_LISTED = 200
_NEWEST = 200
"""Runs of an environment that tell on which hosts it holds."""


def listed(session: Session, host: str | None = None) -> list[EnvironmentEntry]:
    """Return the environments in which something was measured, the last seen first; those of one host if asked."""
    wanted = select(Environment)
    if host is not None:
        here = select(Host.id).where(Host.name == host).scalar_subquery()
        wanted = wanted.where(select(Run.id).where(Run.environment_id == Environment.id, Run.host_id == here).exists())
    rows = session.scalars(wanted.order_by(Environment.id.desc()).limit(_LISTED)).all()
    entries = [entry for row in rows if (entry := _entry(session, row)) is not None]
    return sorted(entries, key=lambda entry: entry.last_seen, reverse=True)


def find(session: Session, beginning: str) -> EnvironmentEntry | None:
    """Return the environment whose hash begins like this, where there is exactly one."""
    found = session.scalars(
        select(Environment).where(Environment.hash.startswith(beginning, autoescape=True)).limit(2)
    ).all()
    return _entry(session, found[0]) if len(found) == 1 else None


def knobs(session: Session, hashes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the knobs of some environments, by their hashes."""
    rows = session.execute(select(Environment.hash, Environment.knobs).where(Environment.hash.in_(hashes)))
    return {environment: held for environment, held in rows}  # noqa: C416 - the rows are no pairs to mypy


def before(session: Session, environment: EnvironmentEntry) -> str | None:
    """Return the hash of the environment that was seen last on the same host before this one was."""
    host = select(Host.id).where(Host.name.in_(environment.hosts))
    return session.scalar(
        select(Environment.hash)
        .join(Run, Run.environment_id == Environment.id)
        .where(Run.host_id.in_(host), Run.started_at < environment.first_seen)
        .order_by(Run.started_at.desc())
        .limit(1)
    )


def _entry(session: Session, row: Environment) -> EnvironmentEntry | None:
    here = Run.environment_id == row.id
    first, last = (
        session.scalar(select(func.min(Run.started_at)).where(here)),
        session.scalar(select(func.max(Run.started_at)).where(here)),
    )
    if first is None or last is None:
        return None
    newest = select(Run.host_id).where(here).order_by(Run.started_at.desc()).limit(_NEWEST).subquery()
    hosts = select(Host.name).where(Host.id.in_(select(newest.c.host_id))).order_by(Host.name)
    return EnvironmentEntry(
        hash=row.hash,
        hosts=list(session.scalars(hosts)),
        runs=session.scalar(select(func.count()).select_from(Run).where(here)) or 0,
        first_seen=first,
        last_seen=last,
        knobs=row.knobs,
    )
