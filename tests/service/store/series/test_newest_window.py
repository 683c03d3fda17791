"""The newest part of a series that a page reads, instead of all of a long history."""

from __future__ import annotations

from sqlalchemy import select

from service.store.engine.database import Database
from service.store.models import Series
from service.store.series.history_window import find_newest_window
from service.store.series.trend_points import arrange_trends
from tests.service import reports
from tests.service.apiclient import Api


def read_newest(database: Database, max_points: int) -> list[int]:
    """Return the counts of the newest part."""
    with database.reading() as session:
        series_id = session.scalars(select(Series.id).where(Series.metric == "minor-faults")).one()
        window = find_newest_window(session, series_id, max_points)
        return [int(point.value) for point in arrange_trends(session, [series_id], window)[series_id].path]


def test_it_has_the_newest_points_by_their_commits_and_not_by_their_arrival(api: Api, database: Database) -> None:
    api.send(*(reports.report(number, 1000 + number) for number in (9, 8, 7, 6, 5, 4, 3, 2, 1)))
    assert read_newest(database, 4) == [1006, 1007, 1008, 1009]


def test_a_commit_of_which_only_some_runs_fit_is_left_out(api: Api, database: Database) -> None:
    sent = [reports.report(1, 1001), *reports.repeated(2, 1002, 1002, times=3), reports.report(3, 1003)]
    api.send(*sent)
    assert read_newest(database, 2) == [1003]


def test_a_short_series_is_read_as_a_whole(api: Api, database: Database) -> None:
    api.send(*(reports.report(number, 1000 + number) for number in (1, 2, 3)))
    assert read_newest(database, 3) == [1001, 1002, 1003]
