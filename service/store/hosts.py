"""Hosts, each with its newest run."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from runner.contract.report import NO_FAULT_OF_HOST
from service.schemas.directory import HostEntry
from service.store import runs
from service.store.models import Environment, Host, Run, RunCount


def listed(session: Session, name: str | None = None) -> list[HostEntry]:
    """Return all hosts that have reported, by name; or only the one of this name."""
    query = select(Host).order_by(Host.name)
    rows = session.scalars(query if name is None else query.where(Host.name == name))
    return [entry for row in rows if (entry := _entry(session, row)) is not None]


def names(session: Session) -> list[str]:
    """Return the names of all hosts."""
    return list(session.scalars(select(Host.name).order_by(Host.name)))


def last_seen(session: Session, name: str) -> datetime | None:
    """Return when a host ended its newest run; None where it has none."""
    query = select(Run.finished_at).join(Host, Run.host_id == Host.id).where(Host.name == name)
    return session.scalar(query.order_by(Run.started_at.desc()).limit(1))


def _entry(session: Session, host: Host) -> HostEntry | None:
    newest = session.execute(
        select(Run.id, Run.finished_at, Run.outcome, Run.quarantine, Environment.hash)
        .join(Environment, Run.environment_id == Environment.id)
        .where(Run.host_id == host.id, func.coalesce(Run.quarantine, "").not_in(NO_FAULT_OF_HOST))
        .order_by(Run.started_at.desc())
        .limit(1)
    ).first()
    report = None if newest is None else runs.report(session, newest.id)
    if newest is None or report is None:
        return None
    return HostEntry(
        name=host.name,
        labels=list(report.host.labels),
        runs=session.scalar(select(func.sum(RunCount.runs)).where(RunCount.host_id == host.id)) or 0,
        # A bisect, a proof or a lab shows that the host is there, too.
        last_seen=last_seen(session, host.name) or newest.finished_at,
        last_run=newest.id,
        outcome=newest.outcome,
        environment=newest.hash,
        quarantine=newest.quarantine,
        canary=report.canary.finding if report.canary else None,
        canary_holds=report.canary.holds if report.canary else None,
        mismatches=list(report.mismatches),
    )
