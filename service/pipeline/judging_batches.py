"""Judges stale series in batches: up to 100 series at a time, whose results are stored in one transaction.

:mod:`service.pipeline.judge_series` judges the series of a batch, that is, detects their drifts again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from weakref import WeakKeyDictionary

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.pipeline.judge_series import JudgedSeries, judge_series
from service.store.engine.database import Database
from service.store.events import assignees_and_snoozes, event_drifts
from service.store.models import Series, Subject
from service.store.series import drifts, series, sparklines
from service.store.series.series import SeriesFilter, StaleSeries

_SERIES_AT_ONCE = 100
_POINTS_AT_ONCE = 20_000
"""How many series, with how many points, are judged between two transactions: enough to share data, and few enough that
nobody has to wait long for the write."""
_failed_versions: WeakKeyDictionary[Database, dict[int, int]] = WeakKeyDictionary()
"""The versions of series that could not be judged, by the id of the series. This process does not try them again: the
result would be the same, and while they counted as stale, no caller could see all series as judged."""
ALL_SERIES = (SeriesFilter(),)


def judge_stale_series_until(deadline: float, database: Database, filters: Collection[SeriesFilter]) -> bool:
    """Judge the series that are stale now; return whether all were judged before the deadline.

    Judging can take long, so it is done outside of the write lock. If a series changes in the meantime, the result is
    discarded and the series is judged again.
    """
    stale_series = stale_at_start = find_stale_series(database, filters)
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
            for series_id, entry in find_stale_series(database, filters).items()
            if series_id in stale_at_start and entry.judged_version < stale_at_start[series_id].version
        }
    return True


def find_stale_series(database: Database, filters: Collection[SeriesFilter] = ALL_SERIES) -> dict[int, StaleSeries]:
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
