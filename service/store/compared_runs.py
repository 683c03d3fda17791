"""Reads what a comparison of stored runs needs: the runs of a side, and their points."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Text, select, type_coerce
from sqlalchemy.orm import Session

from runner.contract import Outcome, Status
from service.rules.comparison.pairing import ComparableRun, Pair
from service.rules.comparison.stored import SideReadings, StoredDrift, stored_drift
from service.store import points
from service.store import runs as stored
from service.store.engine import bulk
from service.store.models import Case, Drift, Environment, Host, Point, Revision, Run, Series, Subject

Kind = Literal["revision", "run", "environment", "host"]

RUNS = 1000
"""The newest runs of each side that are looked at. A revision has fewer."""
_MOST = 500
"""Runs that are looked up in one query."""
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


def runs(session: Session, side: Side, host: str | None = None, workload: str | None = None) -> list[ComparableRun]:
    """Return the newest runs of a side that may be judged."""
    # A revision has few runs. Of an environment or a host the newest are looked at, which an index has in order.
    newest = (Run.started_at.desc(),) if side.kind in {"environment", "host"} else ()
    conditions = [_of(session, side), Run.outcome == Outcome.MEASURED, Run.quarantine.is_(None)]
    if host:
        conditions.append(Host.name == host)
    if workload:
        conditions.append(Case.workload == workload)
    wanted = stored.joined(
        *(Run.id, Run.number, Subject.name, Case.name, Case.key, Host.name, Environment.hash),
        *(Revision.commit, Revision.title, Revision.position, Run.started_at),
    )
    rows = session.connection().execute(wanted.where(*conditions).order_by(*newest).limit(RUNS))
    return [ComparableRun._make(row) for row in rows.all()]


def readings(
    session: Session, runs: Iterable[int], metrics: Collection[str] | None
) -> dict[int, dict[str, SideReadings]]:
    """Return what some runs measured, by their numbers and the metric; all metrics where none are named."""
    level = type_coerce(Point.value, Text)  # all of them are read in one go: there are thousands
    wanted = points.by_run(
        *(Run.number, Series.id, Series.metric, Point.status == Status.COUNTED, Point.n, level, Point.samples)
    )
    if metrics is not None:
        wanted = wanted.where(Series.metric.in_(metrics))
    rows: list[Any] = []
    for chunk in bulk.chunks(runs, _MOST):
        rows += session.connection().execute(wanted.where(Run.number.in_(chunk))).all()  # in half the session's time
    levels = json.loads(f"[{','.join([row[5] or 'null' for row in rows])}]")
    found: dict[int, dict[str, SideReadings]] = defaultdict(dict)
    for (run, series, metric, counted, n, _, samples), level in zip(rows, levels, strict=True):
        found[run][metric] = SideReadings(samples or (level,) * n, n, level, counted, series)
    return found


def steps(session: Session, pairs: Sequence[Pair]) -> dict[int, list[StoredDrift]]:
    """Return the drifts that can lie between the two sides of a pair, by the number of their series."""
    places = sorted(runs[0].position for pair in pairs for runs in (pair.base, pair.head)) or [0]
    before, after = (Drift.document[name].as_string() for name in ("environment_before", "environment_after"))
    wanted = (
        select(Drift.series_id, Drift.position, Drift.document)
        .join(Series, Drift.series_id == Series.id)
        .join(Run, points.SERIES_OF_RUN)
        .where(((Drift.position > places[0]) & (Drift.position <= places[-1])) | (before != after))
        .order_by(Drift.position, Drift.id)
    )
    found: dict[int, list[StoredDrift]] = {}
    for chunk in bulk.chunks((pair.base[0].number for pair in pairs), _MOST):
        for series, position, document in session.connection().execute(wanted.where(Run.number.in_(chunk))):
            found.setdefault(series, []).append(stored_drift(position, document))
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
