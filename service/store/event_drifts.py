"""The places of drifts, kept beside the events: also those of drifts that are no longer found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from sqlalchemy import Table, select, update
from sqlalchemy.orm import Session, aliased

from runner.contract import metric
from runner.contract.report import hash_of
from service.rules.events.grouping import LocatedDrift
from service.schemas import history
from service.schemas.history import Cause, Direction
from service.store import points
from service.store.engine import bulk
from service.store.models import Drift, EventDrift, Revision, Run, Series, SuiteLook

_CHUNK = 500
"""Values in one IN: SQLite's oldest limit is 999."""
_LITTLE = 0.01
"""Share of a step by which its levels may move before its event is made anew."""


class Stored(NamedTuple):
    """A stored trace with what is kept of it beside."""

    trace: LocatedDrift
    event: str
    found: bool
    unsure: bool


class Updated(NamedTuple):
    """What was changed about the traces of a subject."""

    new: list[EventDrift]
    """Those that have no event yet. They are not in the database until they get one."""
    refreshed: set[str]
    """The drifts that were found anew, or for the first time."""
    moved: bool
    """Whether any drift is new, gone, at another place, or between other levels."""


def unchanged(session: Session, subject_id: int) -> dict[str, str]:
    """Return the event of each drift that was found anew and is told just as it is known. Nothing is changed."""
    with session.no_autoflush:
        rows = _follow(session, subject_id)
        return {row.drift_id: row.event_id for row in rows if row in session and not session.is_modified(row)}


def update_all(session: Session, subject_id: int) -> Updated:
    """Bring the stored traces of a subject in step with its drifts."""
    gone = _mark_gone(session, subject_id)
    rows = _follow(session, subject_id)
    new = [row for row in rows if row not in session]
    moved = gone or bool(new) or any(map(session.is_modified, rows))
    session.flush()
    return Updated(new, {row.drift_id for row in rows}, moved)


def insert(session: Session, rows: Sequence[EventDrift]) -> None:
    """Store new traces: a change of the configuration can bring thousands at once, and writers wait meanwhile."""
    table = cast(Table, EventDrift.__table__)
    columns = table.columns.keys()
    bulk.insert(session, table, columns, ([getattr(row, name) for name in columns] for row in rows))


def stored(session: Session, subject_id: int) -> list[Stored]:
    """Return all traces of a subject that are part of an event."""
    first, last = aliased(Revision), aliased(Revision)
    rows = session.execute(
        select(EventDrift, first.position, last.position)
        .join(first, EventDrift.first_revision_id == first.id)
        .join(last, EventDrift.last_revision_id == last.id)
        .where(EventDrift.subject_id == subject_id)
    )
    return [Stored(trace(row, *places), row.event_id, row.found, row.unsure) for row, *places in rows]


def trace(row: EventDrift, first: int, last: int) -> LocatedDrift:
    """Return what the place and the life of a drift depend on."""
    return LocatedDrift(
        drift_id=row.drift_id,
        series=row.drift_id if row.series_id is None else row.series_id,
        cause=row.cause,
        detail=row.detail,
        first=min(first, last),
        last=max(first, last),
        since=row.since.timestamp(),
        until=row.until.timestamp(),
        before=row.before,
        after=row.after,
        spread=row.spread,
        worse=row.worse,
        revision=row.revision,
        returned=row.returned,
    )


def positions(session: Session, rows: Sequence[EventDrift]) -> dict[int, int]:
    """Return the places of the revisions of some traces, by the revision's number."""
    wanted = {number for row in rows for number in (row.first_revision_id, row.last_revision_id)}
    found: dict[int, int] = {}
    for chunk in _chunks(sorted(wanted)):
        found |= dict(session.execute(select(Revision.id, Revision.position).where(Revision.id.in_(chunk))).all())
    return found


def units(session: Session, numbers: Iterable[int | str]) -> dict[int | str, str]:
    """Return the unit of each of some series, by the number of the series."""
    found: dict[int | str, str] = {}
    for chunk in _chunks(sorted(number for number in numbers if isinstance(number, int))):
        rows = session.execute(select(Series.id, Series.metric).where(Series.id.in_(chunk)))
        found |= {number: metric(name).unit for number, name in rows}
    return found


def drifts(session: Session, identities: Sequence[str], cause: Cause | None = None) -> list[history.Drift]:
    """Return drifts and shifts of whole suites as they are told; those with one cause, if asked for."""
    found: list[history.Drift] = []
    for chunk in _chunks(identities):
        some = select(Drift.document).where(Drift.id.in_(chunk))
        found += map(
            history.Drift.model_validate, session.scalars(some if cause is None else some.where(Drift.cause == cause))
        )
        if cause is None:
            found += map(
                history.Drift.model_validate, session.scalars(select(SuiteLook.document).where(SuiteLook.id.in_(chunk)))
            )
    return sorted(found, key=lambda drift: drift.id)


def events_of(session: Session, identities: Sequence[str]) -> dict[str, str]:
    """Return the event that each of some drifts is part of."""
    found: dict[str, str] = {}
    for chunk in _chunks(identities):
        rows = session.execute(select(EventDrift.drift_id, EventDrift.event_id).where(EventDrift.drift_id.in_(chunk)))
        found |= dict(rows.all())
    return found


def _follow(session: Session, subject_id: int) -> list[EventDrift]:
    """Return the traces of all drifts that were found anew, as those are told now; new ones are in no session."""
    fresh = [*_new_drifts(session, subject_id), *_new_looks(session, subject_id)]
    told = {identity: history.Drift.model_validate(document) for identity, document in fresh}
    runs = _measured_at(session, told.values())
    commits = _revision_ids(session, subject_id, told.values())
    rows = {row.drift_id: row for row in _rows(session, list(told))}
    for identity, drift in told.items():
        if identity not in rows:
            rows[identity] = EventDrift(drift_id=identity, subject_id=subject_id, returned=False)
        _fill(session, rows[identity], drift, runs, commits)
    return list(rows.values())


def _new_drifts(session: Session, subject_id: int) -> Iterable[tuple[str, object]]:
    of_subject = select(Drift.id, Drift.document).join(Series, Drift.series_id == Series.id)
    fresh = of_subject.where(Series.subject_id == subject_id, Drift.event_id.is_(None))
    yield from [(identity, document) for identity, document in session.execute(fresh)]


def _new_looks(session: Session, subject_id: int) -> Iterable[tuple[str, object]]:
    traced = select(EventDrift.drift_id).where(EventDrift.subject_id == subject_id)
    looks = select(SuiteLook).where(SuiteLook.subject_id == subject_id, SuiteLook.id.not_in(traced))
    for look in session.scalars(looks):
        if look.document:
            yield look.id, look.document


def _mark_gone(session: Session, subject_id: int) -> bool:
    here = EventDrift.subject_id == subject_id
    drifts = select(Drift.id).join(Series, Drift.series_id == Series.id).where(Series.subject_id == subject_id)
    gone = (here, EventDrift.found, EventDrift.series_id.is_not(None), EventDrift.drift_id.not_in(drifts))
    rows = list(session.scalars(select(EventDrift.drift_id).where(*gone)))
    for chunk in _chunks(rows):
        away = update(EventDrift).where(EventDrift.drift_id.in_(chunk)).values(found=False)
        session.execute(away.execution_options(synchronize_session=False))
    return bool(rows)


def _measured_at(session: Session, drifts: Iterable[history.Drift]) -> dict[UUID, datetime]:
    wanted = list({run for drift in drifts for run in (drift.run_before, drift.run_after)})
    found: dict[UUID, datetime] = {}
    for chunk in _chunks(wanted):
        found |= dict(session.execute(select(Run.id, Run.started_at).where(Run.id.in_(chunk))).all())
    return found


def _revision_ids(session: Session, subject_id: int, drifts: Iterable[history.Drift]) -> dict[str, int]:
    wanted = sorted({commit for drift in drifts for commit in _ends(drift)})
    found: dict[str, int] = {}
    for chunk in _chunks(wanted):
        of_subject = select(Revision.commit, Revision.id).where(Revision.subject_id == subject_id)
        found |= dict(session.execute(of_subject.where(Revision.commit.in_(chunk))).all())
    return found


def _ends(drift: history.Drift) -> tuple[str, str]:
    """Return the first and the last commit that can have caused a drift."""
    if drift.candidates and drift.cause in {Cause.COMMIT, Cause.BOTH}:
        return drift.candidates[0].commit, drift.candidates[-1].commit
    return drift.revision, drift.revision


def _fill(
    session: Session, row: EventDrift, drift: history.Drift, runs: Mapping[UUID, datetime], commits: Mapping[str, int]
) -> None:
    first, last = _ends(drift)
    moments = sorted((runs[drift.run_before], runs[drift.run_after]))
    row.series_id = drift.series_id or None
    row.cause, row.detail = drift.cause, _detail(drift)
    row.first_revision_id, row.last_revision_id = commits[first], commits[last]
    row.since, row.until = moments
    if row.before is None or _tells_otherwise(row, drift):
        row.before, row.after, row.spread = drift.before, drift.after, drift.evidence.spread
    row.worse = drift.direction is Direction.REGRESSION
    row.revision, row.rule = drift.revision, drift.rule
    row.run_after = _new_level(session, drift, last)
    row.unsure, row.found = drift.evidence.wants_rerun, True


def _tells_otherwise(row: EventDrift, drift: history.Drift) -> bool:
    """Tell whether the levels are others than those known: in noise, each run moves them a little."""
    off = max(abs(drift.before - row.before), abs(drift.after - row.after))
    return off > _LITTLE * abs(row.after - row.before)


def _new_level(session: Session, drift: history.Drift, last: str) -> UUID | None:
    """Return the run that begins the new level: for a ramp, where it ends."""
    if drift.rule != "ramp":
        return drift.run_after if drift.series_id else None
    there = (drift.environment_after, last)
    rows = points.of_series(session, drift.series_id)
    return next((row.run_id for row in rows if (row.environment, row.revision) == there), None)


def _detail(drift: history.Drift) -> str:
    if drift.cause is Cause.COMMIT:
        return ""
    if drift.cause is Cause.UNKNOWN:
        return drift.host
    return hash_of([[knob.name, knob.before, knob.after] for knob in drift.knobs])


def _rows(session: Session, values: Sequence[str]) -> Iterable[EventDrift]:
    for chunk in _chunks(values):
        yield from session.scalars(select(EventDrift).where(EventDrift.drift_id.in_(chunk)))


def _chunks(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[start : start + _CHUNK] for start in range(0, len(values), _CHUNK))
