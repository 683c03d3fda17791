"""Decides when changed series are judged, immediately or in the background, and in which batches.

:mod:`service.pipeline.judge_series` judges them, that is, detects their drifts again. The results are stored here.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf
from weakref import WeakKeyDictionary

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.pipeline import update_events
from service.pipeline.judge_series import JudgedSeries, judge_series
from service.store.engine.database import Database
from service.store.events import assignees_and_snoozes, event_drifts
from service.store.models import Series, Subject
from service.store.series import drifts, series, sparklines
from service.store.series.series import SeriesFilter, StaleSeries

MAX_SERIES_AT_ONCE = 64
"""At most this many series are judged before the request with a report is answered."""
MAX_POINTS = 10_000
"""At most this many points are judged before the request is answered, which takes a fifth of a second."""
_SERIES_AT_ONCE = 100
_POINTS_AT_ONCE = 20_000
"""How many series, with how many points, are judged between two transactions: enough to share data, and few enough that
nobody has to wait long for the write."""
_failed_versions: WeakKeyDictionary[Database, dict[int, int]] = WeakKeyDictionary()
"""The versions of series that could not be judged, by the id of the series. This process does not try them again: the
result would be the same, and while they counted as stale, no caller could see all series as judged."""

_ALL_SERIES = (SeriesFilter(),)


def judge_or_defer_series(database: Database, *, busy: bool = False) -> None:
    """Judge the series that have changed: immediately if there are few, otherwise in the background.

    Parameters
    ----------
    busy
        Whether other requests are waiting, so that all series are judged in the background.
    """
    if busy or not _may_judge_at_once(_find_stale_series(database)):
        database.defer(judge_all_series)
        return
    _judge_stale_series_until(inf, database, _ALL_SERIES)
    if update_events.update_events(database):  # events have given some series another baseline
        judge_or_defer_series(database)


def judge_all_series(database: Database) -> None:
    """Judge every series that has changed since it was judged."""
    judge_stale_series(database)


def judge_stale_series(
    database: Database, filters: Collection[SeriesFilter] = _ALL_SERIES, seconds: float = inf
) -> bool:
    """Judge the series selected by any of the filters that have changed since they were judged.

    A series that cannot be judged keeps its drifts. Series that change in the meantime are left to the request that
    changed them, so this function ends even if runs keep arriving.

    Returns
    -------
    bool
        Whether all are judged and their events are up to date; False if the time limit was exceeded.
    """
    deadline = time.monotonic() + seconds
    was_quiet = False
    while _judge_stale_series_until(deadline, database, filters):
        has_marked_series = update_events.update_events(database, _list_subjects(filters))
        if has_marked_series:
            database.defer(judge_all_series)  # including series that no filter selects
        elif was_quiet:
            return True
        # Another process may have just updated events and marked series stale, so all series are judged only after two
        # successive rounds that marked none.
        was_quiet = not has_marked_series
    return False


def are_all_judged(database: Database, filters: Collection[SeriesFilter]) -> bool:
    """Return whether all series selected by any of the filters are judged, and their events are up to date."""
    # The order matters: a process that updates events marks series stale in the same transaction, so the second query
    # finds changes made after the first one.
    return not update_events.have_drifts_changed(database, _list_subjects(filters)) and not _find_stale_series(
        database, filters
    )


def _list_subjects(filters: Collection[SeriesFilter]) -> set[str] | None:
    """Return the subjects of the filters; None if any filter selects all."""
    subjects = {series_filter.subject for series_filter in filters if series_filter.subject is not None}
    return None if any(series_filter.subject is None for series_filter in filters) else subjects


def _judge_stale_series_until(deadline: float, database: Database, filters: Collection[SeriesFilter]) -> bool:
    """Judge the series that are stale now; return whether all were judged before the deadline.

    Judging can take long, so it is done outside of the write lock. If a series changes in the meantime, the result is
    discarded and the series is judged again.
    """
    stale_series = stale_at_start = _find_stale_series(database, filters)
    while stale_series:
        for batch in _split_series_into_batches(stale_series):
            if time.monotonic() > deadline:
                return False
            with database.reading() as session:
                results, failed_ids = judge_series(session, batch)
            _failed_versions.setdefault(database, {}).update(
                (series_id, stale_series[series_id].version) for series_id in failed_ids
            )
            if results:  # otherwise another process was faster, or no series of the batch can be judged
                with database.writing({entry.subject for entry in results}) as session:
                    _store_results(session, results)
        # Series that changed after the start are left out: the request that changed them has them judged.
        stale_series = {
            series_id: entry
            for series_id, entry in _find_stale_series(database, filters).items()
            if series_id in stale_at_start and entry.judged_version < stale_at_start[series_id].version
        }
    return True


def _may_judge_at_once(stale_series: Mapping[int, StaleSeries]) -> bool:
    """Return whether stale series are few enough to be judged before the request is answered."""
    return (
        len(stale_series) <= MAX_SERIES_AT_ONCE and sum(entry.n_points for entry in stale_series.values()) <= MAX_POINTS
    )


def _find_stale_series(database: Database, filters: Collection[SeriesFilter] = _ALL_SERIES) -> dict[int, StaleSeries]:
    """Return the series that have changed since they were judged, except those that this process cannot judge."""
    with database.reading() as session:
        stale_series = series.map_stale_series(session, filters)
    failed_versions = _failed_versions.get(database, {})
    return {
        series_id: entry for series_id, entry in stale_series.items() if failed_versions.get(series_id) != entry.version
    }


def _split_series_into_batches(stale_series: Mapping[int, StaleSeries]) -> Iterator[list[int]]:
    """Split series into batches in the order of their ids, because neighbours are often metrics of one case."""
    sorted_ids = sorted(stale_series)
    # Several processes may do this at the same time: each begins at a random series, and skips what is already judged.
    start = random.randrange(len(sorted_ids))  # noqa: S311 - not used for security
    batch: list[int] = []
    remaining_points = _POINTS_AT_ONCE
    for series_id in sorted_ids[start:] + sorted_ids[:start]:
        if batch and (stale_series[series_id].n_points > remaining_points or len(batch) == _SERIES_AT_ONCE):
            yield batch
            batch, remaining_points = [], _POINTS_AT_ONCE
        batch.append(series_id)
        remaining_points -= stale_series[series_id].n_points
    yield batch


def _store_results(session: Session, results: Sequence[JudgedSeries]) -> None:
    """Store the results of series that have neither changed nor been judged since they were read; discard the others.

    Besides the drifts with their withdrawals and the sparklines, this ends snoozes that last until the next run.
    """
    versions_query = select(Series.id, Series.version, Series.judged_version)
    rows = session.execute(versions_query.where(Series.id.in_([result.series_id for result in results])))
    versions = {series_id: (version, judged_version) for series_id, version, judged_version in rows}
    current_results = {
        result.series_id: result
        for result in results
        if versions.get(result.series_id) == (result.version, result.judged_version)
    }
    results_with_new_drifts = [result for result in current_results.values() if result.has_changed_drifts]
    if results_with_new_drifts:
        drifts.replace_drifts(session, {result.series_id: result.drifts for result in results_with_new_drifts})
        subjects = select(Series.subject_id).where(
            Series.id.in_([result.series_id for result in results_with_new_drifts])
        )
        new_values = {"drifts_version": Subject.drifts_version + 1}
        session.execute(update(Subject).where(Subject.id.in_(subjects)).values(new_values))
        for result in results_with_new_drifts:
            event_drifts.mark_withdrawn_drifts(session, result.withdrawal_reasons)
    assignees_and_snoozes.wake_events_after_run(session, current_results)
    sparkline_of_series = {
        series_id: (result.version, result.sparkline)
        for series_id, result in current_results.items()
        if result.sparkline is not None
    }
    sparklines.store_sparklines(session, sparkline_of_series)
    session.execute(update(Series).where(Series.id.in_(current_results)).values(judged_version=Series.version))
