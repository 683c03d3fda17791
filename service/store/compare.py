"""Reads what a comparison of stored runs needs: the runs of a side, and their points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from runner.contract import Outcome
from service.compare import Measured, Placed, Readings
from service.store import points
from service.store.models import Case, Drift, Environment, Host, Revision, Run, Subject
from service.views import Drift as DriftView

Kind = Literal["revision", "run", "environment", "host"]

RUNS = 1000
"""The newest runs of each side that are looked at. A revision has fewer."""
_SHORTEST = 4
"""Letters of a hash that may be enough to tell it."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: what was asked for, found."""

    kind: Kind
    key: str
    """As it stands in an address."""
    title: str
    subject: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """One metric of some runs of one series."""

    series_id: int
    readings: Readings


def find(session: Session, text: str, subject: str | None = None) -> list[Side]:
    """Return what a text can mean: a commit's hash, a run's id, an environment's hash or a host's name.

    The kind may be named: ``host:lab-1``.
    """
    kind, colon, name = text.strip().partition(":")
    named = colon and kind in {"revision", "run", "environment", "host"}
    key = name if named else text.strip()
    finders = {"run": _run, "host": _host, "environment": _environment, "revision": _revision}
    wanted = [finders[kind]] if named else list(finders.values())
    return [side for finder in wanted for side in finder(session, key, subject)]


def runs(session: Session, side: Side, host: str | None = None, workload: str | None = None) -> list[Measured]:
    """Return the newest runs of a side that may be judged."""
    # A revision has few runs. Of an environment or a host the newest are looked at, which an index has in order.
    newest = (Run.started_at.desc(),) if side.kind in {"environment", "host"} else ()
    conditions = [_of(session, side), Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None)]
    if host:
        conditions.append(Host.name == host)
    if workload:
        conditions.append(Case.workload == workload)
    rows = session.execute(
        select(
            Run.id.label("run_id"),
            Subject.name.label("subject"),
            Case.name.label("case"),
            Case.key.label("case_key"),
            Host.name.label("host"),
            Environment.hash.label("environment"),
            Revision.commit.label("revision"),
            Revision.title,
            Revision.position,
            Run.started_at,
        )
        .join(Run.subject)
        .join(Run.case)
        .join(Run.host)
        .join(Run.environment)
        .join(Run.revision)
        .where(*conditions)
        .order_by(*newest)
        .limit(RUNS)
    )
    return [Measured(**row._asdict()) for row in rows]


def values(session: Session, run_ids: Iterable[UUID], metrics: Sequence[str] | None) -> dict[tuple[UUID, str], Values]:
    """Return the samples of each metric of some runs; of all metrics where none are named."""
    return {
        (point.run_id, point.metric): Values(point.series_id, Readings(point.samples, frozenset([point.status])))
        for point in points.of_runs(session, run_ids, metrics)
    }


def drifts(session: Session, series_ids: Iterable[int]) -> dict[int, list[Placed]]:
    """Return the drifts of some series, each with the place of its revision."""
    found: dict[int, list[Placed]] = {}
    rows = session.execute(
        select(Drift.series_id, Drift.position, Drift.document).where(Drift.series_id.in_(list(series_ids)))
    )
    for series_id, position, document in rows:
        found.setdefault(series_id, []).append(Placed(position, DriftView.model_validate(document)))
    return found


def _of(session: Session, side: Side) -> ColumnElement[bool]:
    """Return the condition on runs, by numbers: so that the database begins with the index of what is asked for."""
    if side.kind == "run":
        return Run.id == UUID(side.key)
    if side.kind == "revision":
        revision = select(Revision.id).join(Subject, Revision.subject_id == Subject.id)
        named = revision.where(Revision.commit == side.key, Subject.name == side.subject)
        return Run.revision_id == session.scalar(named)
    if side.kind == "environment":
        return Run.environment_id == session.scalar(select(Environment.id).where(Environment.hash == side.key))
    return Run.host_id == session.scalar(select(Host.id).where(Host.name == side.key))


def _run(session: Session, key: str, _: str | None) -> list[Side]:
    try:
        run_id = UUID(key)
    except ValueError:
        return []
    found = session.execute(
        select(Run.id, Case.name, Revision.commit, Subject.name)
        .join(Run.case)
        .join(Run.revision)
        .join(Run.subject)
        .where(Run.id == run_id)
    ).first()
    return [] if found is None else [Side("run", str(found[0]), f"{found[1]} at {found[2][:10]}", found[3])]


def _host(session: Session, key: str, _: str | None) -> list[Side]:
    return [Side("host", name, name) for name in session.scalars(select(Host.name).where(Host.name == key))]


def _environment(session: Session, key: str, _: str | None) -> list[Side]:
    if len(key) < _SHORTEST:
        return []
    found = select(Environment.hash).where(Environment.hash.startswith(key.lower(), autoescape=True)).limit(5)
    return [Side("environment", hash_, hash_) for hash_ in session.scalars(found)]


def _revision(session: Session, key: str, subject: str | None) -> list[Side]:
    if len(key) < _SHORTEST:
        return []
    found = (
        select(Revision.commit, Revision.title, Subject.name)
        .join(Subject, Revision.subject_id == Subject.id)
        .where(Revision.commit.startswith(key.lower(), autoescape=True))
        .limit(5)
    )
    rows = session.execute(found if not subject else found.where(Subject.name == subject))
    return [Side("revision", commit, title or commit[:10], name) for commit, title, name in rows]
