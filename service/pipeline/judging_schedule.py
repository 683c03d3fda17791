"""Decides when changed series are judged: before the request with a report is answered, or in the background."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from math import inf

from service.pipeline import update_events
from service.pipeline.judging_batches import ALL_SERIES, find_stale_series, judge_stale_series_until
from service.store.engine.database import Database
from service.store.series.series import SeriesFilter, StaleSeries

MAX_SERIES_AT_ONCE = 64
"""At most this many series are judged before the request with a report is answered."""
MAX_POINTS = 10_000
"""At most this many points are judged before the request is answered, which takes a fifth of a second."""


def judge_or_defer_series(database: Database, *, busy: bool = False) -> None:
    """Judge the series that have changed: immediately if there are few, otherwise in the background.

    Parameters
    ----------
    busy
        Whether other requests are waiting, so that all series are judged in the background.
    """
    if busy or not _may_judge_at_once(find_stale_series(database)):
        database.defer(judge_all_series)
        return
    judge_stale_series_until(inf, database, ALL_SERIES)
    if update_events.update_events(database):  # events have given some series another baseline
        judge_or_defer_series(database)


def judge_all_series(database: Database) -> None:
    """Judge every series that has changed since it was judged."""
    judge_stale_series(database)


def judge_stale_series(
    database: Database, filters: Collection[SeriesFilter] = ALL_SERIES, seconds: float = inf
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
    while judge_stale_series_until(deadline, database, filters):
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
    return not update_events.have_drifts_changed(database, _list_subjects(filters)) and not find_stale_series(
        database, filters
    )


def _list_subjects(filters: Collection[SeriesFilter]) -> set[str] | None:
    """Return the subjects of the filters; None if any filter selects all."""
    subjects = {series_filter.subject for series_filter in filters if series_filter.subject is not None}
    return None if any(series_filter.subject is None for series_filter in filters) else subjects


def _may_judge_at_once(stale_series: Mapping[int, StaleSeries]) -> bool:
    """Return whether stale series are few enough to be judged before the request is answered."""
    return (
        len(stale_series) <= MAX_SERIES_AT_ONCE and sum(entry.n_points for entry in stale_series.values()) <= MAX_POINTS
    )
