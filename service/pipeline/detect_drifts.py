"""Detects the drifts of series whose points have changed, and stores them."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from weakref import WeakKeyDictionary

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.pipeline import update_events
from service.pipeline.judge_series import JudgedSeries, judge
from service.store.engine.database import Database
from service.store.events import event_drifts, event_marks
from service.store.models import Series, Subject
from service.store.series import drifts, series, sparklines
from service.store.series.series import SeriesFilter, StaleSeries

MAX_SERIES_AT_ONCE = 64
"""Most series that are judged before a report is answered."""
MAX_POINTS = 10_000
"""Most points that they have. Judging as many takes a fifth of a second."""
_SERIES_AT_ONCE = 100
_POINTS_AT_ONCE = 20_000
"""How many series, of how many points, are judged between one transaction and the next: enough to share what they
have in common, few enough that nobody waits for the write."""
_failed: WeakKeyDictionary[Database, dict[int, int]] = WeakKeyDictionary()
"""The versions of series that could not be judged. This process does not try them again: the result would be the same,
and as long as they counted as work to do, the others would wait with them."""

_ALL = (SeriesFilter(),)


def refresh(database: Database, *, busy: bool = False) -> None:
    """Judge the series that have changed: a few of them now; in the background many, and all where others wait."""
    if busy or not _is_soon_done(_stale(database)):
        database.defer(refresh_all)
        return
    _judge_until(inf, database, _ALL)
    if update_events.refresh(database):
        refresh(database)


def refresh_all(database: Database) -> None:
    """Judge every series that has changed since it was judged."""
    settle(database)


def settle(database: Database, wanted: Collection[SeriesFilter] = _ALL, seconds: float = inf) -> bool:
    """Judge the series that have changed since they were judged: all, or those that some filter selects.

    A series that cannot be judged stays as it is. What changes while others are judged is left to the request that
    changed it, so this ends however many runs arrive.

    Returns
    -------
    bool
        Whether all are judged, and have their events; False if that takes longer than so many seconds.
    """
    deadline = time.monotonic() + seconds
    is_last = False
    while _judge_until(deadline, database, wanted):
        marked = update_events.refresh(database, _subjects(wanted))
        if marked:
            database.defer(refresh_all)  # also series that nobody asked for
        elif is_last:
            return True
        # Events have series judged again, and those that another process has just updated do, too: look once more.
        is_last = not marked
    return False


def is_settled(database: Database, wanted: Collection[SeriesFilter]) -> bool:
    """Return whether all series that some filter selects are judged, and have their events."""
    # In this order: who updates the events marks series in the same transaction.
    return not update_events.is_due(database, _subjects(wanted)) and not _stale(database, wanted)


def _subjects(wanted: Collection[SeriesFilter]) -> set[str] | None:
    """Return the subjects of some filters; None if a filter selects all."""
    named = {one.subject for one in wanted if one.subject is not None}
    return None if any(one.subject is None for one in wanted) else named


def _judge_until(deadline: float, database: Database, wanted: Collection[SeriesFilter]) -> bool:
    """Judge what is stale now; return whether there was time for all of it.

    Judging can take long, so it happens outside of the write lock. Where a series changes meanwhile, the result is
    dropped and the series is judged again.
    """
    left = noted = _stale(database, wanted)
    while left:
        for batch in _batches(left):
            if time.monotonic() > deadline:
                return False
            with database.reading() as session:
                judged, not_judged = judge(session, batch)
            _failed.setdefault(database, {}).update((one, left[one].version) for one in not_judged)
            if judged:  # else another process was faster
                with database.writing({one.subject for one in judged}) as session:
                    _store(session, judged)
        left = {
            series_id: one
            for series_id, one in _stale(database, wanted).items()
            if series_id in noted and one.judged_version < noted[series_id].version
        }
    return True


def _is_soon_done(stale: Mapping[int, StaleSeries]) -> bool:
    return len(stale) <= MAX_SERIES_AT_ONCE and sum(one.n_points for one in stale.values()) <= MAX_POINTS


def _stale(database: Database, wanted: Collection[SeriesFilter] = _ALL) -> dict[int, StaleSeries]:
    """Return the series that are to be judged."""
    with database.reading() as session:
        stale = series.list_stale(session, wanted)
    failed = _failed.get(database, {})
    return {series_id: one for series_id, one in stale.items() if failed.get(series_id) != one.version}


def _batches(stale: Mapping[int, StaleSeries]) -> Iterator[list[int]]:
    """Split series into batches. Neighbours are often metrics of one case."""
    ordered = sorted(stale)
    # Several processes may do this at once: each begins elsewhere, and skips what another one has done.
    start = random.randrange(len(ordered))  # noqa: S311 - guards nothing
    batch: list[int] = []
    room = _POINTS_AT_ONCE
    for one in ordered[start:] + ordered[:start]:
        if batch and (stale[one].n_points > room or len(batch) == _SERIES_AT_ONCE):
            yield batch
            batch, room = [], _POINTS_AT_ONCE
        batch.append(one)
        room -= stale[one].n_points
    yield batch


def _store(session: Session, judged: Sequence[JudgedSeries]) -> None:
    """Store the results of series that have neither changed nor been judged since they were read."""
    of_batch = select(Series.id, Series.version, Series.judged_version)
    rows = session.execute(of_batch.where(Series.id.in_([one.series_id for one in judged])))
    versions = {series_id: (version, judged_version) for series_id, version, judged_version in rows}
    current = {one.series_id: one for one in judged if versions.get(one.series_id) == (one.version, one.judged_version)}
    moved = [one for one in current.values() if one.differ]
    if moved:
        drifts.replace(session, {one.series_id: one.drifts for one in moved})
        subjects = select(Series.subject_id).where(Series.id.in_([one.series_id for one in moved]))
        increased = {"drifts_version": Subject.drifts_version + 1}
        session.execute(update(Subject).where(Subject.id.in_(subjects)).values(increased))
        for one in moved:
            event_drifts.mark_withdrawn(session, one.withdrawn)
    event_marks.wake_after_run(session, current)
    drawn = {name: (one.version, one.sparkline) for name, one in current.items() if one.sparkline is not None}
    sparklines.store(session, drawn)
    session.execute(update(Series).where(Series.id.in_(current)).values(judged_version=Series.version))
