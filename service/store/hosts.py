"""Hosts, each with its newest run."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, func, select, true
from sqlalchemy.orm import Session

from runner.contract.quarantine import REASONS_UNRELATED_TO_HOST
from service.schemas.directory import HostEntry
from service.store.engine import bulk
from service.store.models import Environment, EnvironmentCount, Host, Run, StoredReport
from service.store.runs import runs
from service.store.runs.stored_reports import unpack_report


def list_hosts(session: Session, name: str | None = None) -> list[HostEntry]:
    """Return all hosts that have reported, in the order of their names, or only the host with the given name."""
    is_listed = true() if name is None else Host.name == name
    # Runs of bisects, proofs and labs, and reused counts, do not say whether the host counts correctly.
    concerns_host = func.coalesce(Run.quarantine, "").not_in(REASONS_UNRELATED_TO_HOST)
    newest_runs = runs.list_newest_runs_of_hosts(session, is_listed, concerns_host)
    rows = session.execute(
        select(Host.id, Host.name, Run.id, Run.outcome, Run.quarantine, Environment.hash, StoredReport.document)
        .select_from(Run)
        .join(Host, Run.host_id == Host.id)
        .join(Environment, Run.environment_id == Environment.id)
        .join(StoredReport, StoredReport.run_number == Run.number)
        .where(bulk.is_among(session, Run.number, newest_runs))
        .order_by(Host.name)
    ).all()
    last_seen = _map_last_seen(session, is_listed)
    n_runs = _count_runs(session, [host_id for host_id, *_ in rows])
    entries = []
    for host_id, host_name, run, outcome, quarantine, environment, document in rows:
        report = unpack_report(document)
        entries.append(
            HostEntry(
                name=host_name,
                labels=list(report.host.labels),
                runs=n_runs[host_id],
                last_seen=last_seen[host_id],
                last_run=run,
                outcome=outcome,
                environment=environment,
                quarantine=quarantine,
                canary=report.canary.finding if report.canary else None,
                canary_holds=report.canary.holds if report.canary else None,
                mismatches=list(report.mismatches),
            )
        )
    return entries


def _map_last_seen(session: Session, is_listed: ColumnElement[bool]) -> dict[int, datetime]:
    """Return when each host ended its newest run; runs of bisects, proofs and labs count, too."""
    is_newest_run = bulk.is_among(session, Run.number, runs.list_newest_runs_of_hosts(session, is_listed))
    return dict(session.execute(select(Run.host_id, Run.finished_at).where(is_newest_run)).all())


def _count_runs(session: Session, hosts: Sequence[int]) -> dict[int, int]:
    """Return the number of runs of each host, by the host's id."""
    runs_of_host = select(EnvironmentCount.host_id, func.sum(EnvironmentCount.runs)).group_by(EnvironmentCount.host_id)
    return dict(session.execute(runs_of_host.where(EnvironmentCount.host_id.in_(hosts))).all())


def list_host_names(session: Session) -> list[str]:
    """Return the names of all hosts."""
    return list(session.scalars(select(Host.name).order_by(Host.name)))


def find_last_seen(session: Session, name: str) -> datetime | None:
    """Return when a host ended its newest run; None if it has none."""
    query = select(Run.finished_at).join(Host, Run.host_id == Host.id).where(Host.name == name)
    return session.scalar(query.order_by(Run.started_at.desc()).limit(1))
