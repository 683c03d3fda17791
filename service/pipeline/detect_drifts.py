"""Keeps the stored drifts in step with the points."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from service.pipeline import update_events
from service.rules.same_bytes import system_files
from service.rules.series import drifts
from service.rules.series import shifts as judge
from service.rules.series.outline import Outline
from service.rules.series.path import Point
from service.rules.series.shifts import Shift
from service.schemas import history
from service.schemas.history import Cause
from service.store import events, outlines, points, runs, series
from service.store.engine.database import Database
from service.store.models import Drift, Revision, Series, Subject

log = logging.getLogger(__name__)

AT_ONCE = 64
"""Series that are judged while the one who sent a run waits."""
_NEAREST = 5
"""Runs on each side of a drift that companions are taken from: noisy metrics are not told from one run."""


def refresh(database: Database) -> None:
    """Judge what changed since it was judged: at once where a run brought it, soon where it is more than that."""
    if len(_stale(database)) <= AT_ONCE:
        refresh_all(database)
    else:
        database.later(refresh_all)


def refresh_all(database: Database) -> None:
    """Judge every series that changed since it was judged.

    Judging can take long, so it happens outside of the write lock. Where a series has changed meanwhile, what was
    found is dropped and looked for again.
    """
    given_up: set[int] = set()
    while stale := _stale(database) - given_up:
        # Several processes may be at it: each begins elsewhere, and passes over what another has done.
        for series_id in random.sample(sorted(stale), len(stale)):
            try:
                _refresh(database, series_id)
            except (ArithmeticError, AssertionError, LookupError, TypeError, ValueError):
                # A series that cannot be judged must not keep runs from being stored. It stays to be judged.
                log.exception("series %d could not be judged", series_id)
                given_up.add(series_id)
    if update_events.refresh(database):
        refresh(database)


def _stale(database: Database) -> set[int]:
    with database.reading() as session:
        return set(session.scalars(series.STALE))


def _refresh(database: Database, series_id: int) -> None:
    with database.reading() as session:
        row = series.find(session, series_id)
        assert row is not None
        if row.version == row.judged_version:
            return
        version, (found, drawn) = row.version, _judge(session, row)
    with database.writing() as session:
        unchanged = select(Series.id).where(Series.id == series_id, Series.version == version)
        if session.scalar(unchanged) is None:
            return
        if _differ(session, series_id, found):
            session.execute(delete(Drift).where(Drift.series_id == series_id))
            session.add_all(found)
            changed = Subject.id == select(Series.subject_id).where(Series.id == series_id).scalar_subquery()
            session.execute(update(Subject).where(changed).values(drifts_version=Subject.drifts_version + 1))
        outlines.keep(session, series_id, version, drawn)
        session.execute(update(Series).where(Series.id == series_id).values(judged_version=version))


def _differ(session: Session, series_id: int, found: list[Drift]) -> bool:
    stored = session.execute(select(Drift.id, Drift.position, Drift.document).where(Drift.series_id == series_id))
    return {tuple(row[:2]): row[2] for row in stored} != {(one.id, one.position): one.document for one in found}


def _judge(session: Session, row: Series) -> tuple[list[Drift], Outline | None]:
    head = series.head(row)
    trend = points.trend_of(session, row.id)
    shifts = judge.find_shifts(trend, head.kind, events.baselines(session, row.id))
    named = zip(drifts.identify(row.id, shifts), shifts, strict=True)
    told = [drifts.tell(name, head, shift, _context(session, row, shift)) for name, shift in named]
    places = [shift.after.position for shift in shifts]
    return [_drift(*found) for found in zip(told, places, strict=True)], outlines.make(trend, told)


def _drift(told: history.Drift, position: int) -> Drift:
    return Drift(
        id=told.id,
        series_id=told.series_id,
        cause=told.cause,
        committed_at=told.committed_at,
        position=position,
        document=told.model_dump(mode="json"),
    )


def _knobs(session: Session, shift: Shift, point: Point) -> Mapping[str, str]:
    """Return the knobs of one side; the files from elsewhere that it mapped are some, where they are what differs."""
    known = points.knobs(session, point.environment)
    if shift.cause is not Cause.CONFIG or shift.before.environment != shift.after.environment:
        return known
    report = runs.report(session, point.run_id)
    return {**known, **(system_files(report) if report else {})}


def _context(session: Session, row: Series, shift: Shift) -> drifts.Context:
    of_subject = select(Revision).where(Revision.subject_id == row.subject_id)
    blamed = session.scalars(of_subject.where(Revision.commit == shift.after.revision)).one()
    between = (Revision.position > shift.after_position, Revision.position <= shift.up_to_position)
    return drifts.Context(
        title=blamed.title,
        author=blamed.author,
        committed_at=blamed.committed_at,
        candidates=[
            history.Candidate(commit=revision.commit, title=revision.title, author=revision.author)
            for revision in session.scalars(of_subject.where(*between).order_by(Revision.position))
        ],
        knobs_before=_knobs(session, shift, shift.before),
        knobs_after=_knobs(session, shift, shift.after),
        levels_before=points.levels(session, [point.run_id for point in shift.old[-_NEAREST:]]),
        levels_after=points.levels(session, [point.run_id for point in shift.new[:_NEAREST]]),
    )
