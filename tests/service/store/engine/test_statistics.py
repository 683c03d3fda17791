"""PostgreSQL has statistics of the divided tables: when that is due, by one process at a time, with nobody waiting."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from service.store.engine import statistics, table_partitions
from service.store.engine.database import Database
from service.store.engine.statistics import MAX_AGE, Statistics, is_due
from tests.service import reports
from tests.service.apiclient import Api

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PATIENCE = 30


def known(then: float, rows: int, age: timedelta | None = timedelta(0), has_new: bool = True) -> Statistics:
    return Statistics(then, None if age is None else NOW - age, rows, has_new, NOW)


@pytest.mark.parametrize(
    ("expected", "case"),
    [
        (False, known(-1, 0, None, has_new=False)),
        (True, known(-1, 1, None)),
        (False, known(1000, 1150)),
        (True, known(1000, 1151)),
        (True, known(0, 51)),
        (False, known(1000, 1100, MAX_AGE - timedelta(seconds=1))),
        (True, known(1000, 1001, MAX_AGE)),
        (False, known(1000, 1000, MAX_AGE, has_new=False)),
        (True, known(1000, 1001, None)),
        (False, known(1000, 0, None, has_new=False)),
    ],
)
def test_when_it_is_due(expected: bool, case: Statistics) -> None:
    assert is_due(case) == expected


def ask(database: Database, question: str) -> list[tuple[object, ...]]:
    with database.engine.begin() as connection:
        result = connection.execute(text(question))
        return [tuple(row) for row in result] if result.returns_rows else []


def fill(database: Database, first: int, last: int) -> None:
    """Store points of runs that do not exist, which nobody asks for."""
    ask(
        database,
        "INSERT INTO point (series_id, run_number, status, value, n) "
        f"SELECT series, run, 'counted', '1', 1 FROM generate_series({first}, {last}) AS run, "
        "generate_series(1, 10) AS series RETURNING 1",
    )
    deadline = time.monotonic() + PATIENCE
    while ask(database, f"SELECT sum(n_live_tup) >= {last * 10} FROM pg_stat_user_tables") != [(True,)]:
        assert time.monotonic() < deadline, "the server counts within seconds"
        ask(database, "SELECT pg_stat_force_next_flush()")
        time.sleep(0.05)


def estimate(database: Database) -> int:
    """Return how many series PostgreSQL expects in all points."""
    ((plan,),) = ask(database, "EXPLAIN (FORMAT JSON) SELECT series_id FROM point GROUP BY series_id")
    return int(plan[0]["Plan"]["Plan Rows"])  # type: ignore[index]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_divided_tables_are_analysed_when_they_have_grown_and_every_day(database: Database) -> None:
    assert statistics.analyse_due_tables(database) == []
    fill(database, 1, 400)
    ask(database, "ANALYZE point_p0")
    assert estimate(database) > 10, "the statistics of the parts do not say how many series all of them have"
    assert statistics.analyse_due_tables(database) == ["point"]
    assert estimate(database) == 10
    assert statistics.analyse_due_tables(database) == []
    fill(database, 401, 420)
    assert statistics.analyse_due_tables(database) == []
    fill(database, 421, 500)
    assert statistics.analyse_due_tables(database) == ["point"]
    assert ask(database, "SHOW vacuum_cost_delay") == [("0",)]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_who_stores_and_who_makes_a_part_waits_for_no_analysis_of_parts(
    api: Api, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(database, 1, 400)
    with database.engine.connect() as vacuuming:  # as autovacuum locks it
        vacuuming.execute(text("LOCK point_p0 IN SHARE UPDATE EXCLUSIVE MODE"))
        working = threading.Thread(target=statistics.analyse_due_tables, args=(database,))
        working.start()
        began = time.monotonic()
        ask(database, f"SELECT setval('run_number_seq', {3 * table_partitions.RUNS_PER_PARTITION}, false)")
        assert api.send_each(reports.report(1, 100, 100)) == [201]
        assert time.monotonic() - began < PATIENCE / 3
        working.join(PATIENCE)
        assert not working.is_alive(), "it does not wait for who has a part"


def test_sqlite_has_none(database: Database) -> None:
    assert statistics.analyse_due_tables(database) == []
