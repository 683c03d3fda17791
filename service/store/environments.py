"""Environments, and the hosts and times at which they were seen."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service.rules.imported_runs import is_imported
from service.schemas.directory import EnvironmentEntry
from service.store.models import Case, Environment, EnvironmentCount, Host, Run, Subject

_MAX_LISTED_ENVIRONMENTS = 200
"""A list contains at most this many environments: the newest."""


def list_environments(session: Session, host: str | None = None) -> list[EnvironmentEntry]:
    """Return the environments of all runs or of one host's runs, most recently seen first.

    If there are too many, those that were stored last are returned.
    """
    query = select(Environment)
    if host is not None:
        host_id = select(Host.id).where(Host.name == host).scalar_subquery()
        ids_of_host = select(EnvironmentCount.environment_id).where(EnvironmentCount.host_id == host_id)
        query = query.where(Environment.id.in_(ids_of_host))
    rows = session.scalars(query.order_by(Environment.id.desc()).limit(_MAX_LISTED_ENVIRONMENTS)).all()
    entries = [_build_entry(session, row) for row in rows]
    seen_entries = [entry for entry in entries if entry is not None]
    return sorted(seen_entries, key=lambda entry: entry.last_seen, reverse=True)


def find_environment(session: Session, prefix: str) -> EnvironmentEntry | None:
    """Return the environment whose hash has this prefix; None if there is none, or more than one."""
    rows = session.scalars(
        select(Environment).where(Environment.hash.startswith(prefix, autoescape=True)).limit(2)
    ).all()
    return _build_entry(session, rows[0]) if len(rows) == 1 else None


def find_settings(session: Session, hashes: Collection[str]) -> dict[str, dict[str, str]]:
    """Return the settings of environments, by hash."""
    rows = session.execute(select(Environment.hash, Environment.settings).where(Environment.hash.in_(hashes)))
    return {environment: settings for environment, settings in rows}  # noqa: C416 - mypy does not know that rows are pairs


def has_only_imported_runs(session: Session, subject: str, case: str, host: str = "") -> bool:
    """Return whether all runs of a case on a host were imported, so that no host can measure further runs.

    If the host is empty, the runs on all hosts count.
    """
    # One lookup in the index of runs for each environment, instead of a scan of all runs of the case.
    runs_in_environment = (
        select(Run.number)
        .join(Run.subject)
        .join(Run.case)
        .join(Run.host)
        .where(Run.environment_id == Environment.id, Subject.name == subject, Case.name == case)
    )
    if host:
        runs_in_environment = runs_in_environment.where(Host.name == host)
    hashes = list(session.scalars(select(Environment.hash).where(runs_in_environment.exists())))
    settings = find_settings(session, hashes)
    return bool(hashes) and all(is_imported(settings[environment_hash]) for environment_hash in hashes)


def find_environment_before(session: Session, environment: EnvironmentEntry) -> str | None:
    """Return the hash of the latest environment on the same hosts before this one; None if there is none."""
    host = select(Host.id).where(Host.name.in_(environment.hosts))
    return session.scalar(
        select(Environment.hash)
        .join(Run, Run.environment_id == Environment.id)
        .where(Run.host_id.in_(host), Run.started_at < environment.first_seen)
        .order_by(Run.started_at.desc())
        .limit(1)
    )


def _build_entry(session: Session, row: Environment) -> EnvironmentEntry | None:
    """Return an environment with its hosts and when it was seen; None if it has no runs."""
    is_in_environment = Run.environment_id == row.id
    first_seen = session.scalar(select(func.min(Run.started_at)).where(is_in_environment))
    last_seen = session.scalar(select(func.max(Run.started_at)).where(is_in_environment))
    if first_seen is None or last_seen is None:
        return None
    counts = (
        select(Host.name, func.sum(EnvironmentCount.runs))
        .join(EnvironmentCount, EnvironmentCount.host_id == Host.id)
        .where(EnvironmentCount.environment_id == row.id)
        .group_by(Host.name)
        .order_by(Host.name)
    )
    counts_by_host = dict(session.execute(counts).all())
    return EnvironmentEntry(
        hash=row.hash,
        hosts=list(counts_by_host),
        runs=sum(counts_by_host.values()),
        first_seen=first_seen,
        last_seen=last_seen,
        settings=row.settings,
    )
