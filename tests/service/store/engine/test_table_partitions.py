"""Points and reports in parts: there is always room, and a part that is written again is the same, and smaller."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from runner.contract import Report
from service.store.engine import table_partitions
from service.store.engine.database import Database
from service.store.maintenance.retention import RetentionRule, apply_rule
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def ask(database: Database, question: str) -> list[tuple[object, ...]]:
    with database.engine.begin() as connection:
        return [tuple(row) for row in connection.execute(text(question))]


def go_to(database: Database, number: int) -> None:
    """Let the next run have a number."""
    ask(database, f"SELECT setval('run_number_seq', {number}, false)")


def held(database: Database, table: str) -> dict[str, int]:
    """Return how many rows each part has that has any."""
    rows = ask(database, f"SELECT tableoid::regclass::text, count(*) FROM {table} GROUP BY 1")
    return {str(name): int(str(count)) for name, count in rows}


def long(number: int) -> Report:
    """Return a report whose samples take some room."""
    samples = tuple(reports.sample(100, {"elapsed": 1 + place / 997 + number}) for place in range(200))
    return reports.report(number, samples=tuple(samples))


def test_a_series_goes_on_across_parts(api: Api, database: Database) -> None:
    api.send_each(*(reports.report(number, 100, 100) for number in (1, 2)))
    go_to(database, table_partitions.RUNS_PER_PARTITION - 1)
    api.send_each(*(reports.report(number, 100, 100) for number in (3, 4, 5)))
    go_to(database, 5 * table_partitions.RUNS_PER_PARTITION)
    api.send_each(*(reports.report(number, 150, 150) for number in (6, 7)))
    assert held(database, "point") == {"point_p0": 3, "point_p1": 2, "point_p5": 2}
    assert held(database, "report") == {"report_p0": 3, "report_p1": 2, "report_p5": 2}
    assert [point["value"] for point in api.series()["points"]] == [100] * 5 + [150] * 2
    assert len(api.drifts()) == 1


def test_services_that_need_room_at_once_make_it_once(database: Database) -> None:
    services = [Database(database.url.render_as_string(hide_password=False)) for _ in range(6)]
    go_to(database, 3 * table_partitions.RUNS_PER_PARTITION)
    with ThreadPoolExecutor(len(services)) as pool:
        list(pool.map(table_partitions.ensure_partitions, services))
    for service in services:
        service.close()
    made = ask(database, "SELECT relname FROM pg_class WHERE relname ~ '^(point|report)_p[0-9]+$' ORDER BY 1")
    assert [name for (name,) in made] == [f"{table}_p{number}" for table in ("point", "report") for number in range(5)]


@pytest.fixture
def old(api: Api, database: Database) -> list[Report]:
    """Runs in a part that is old by now."""
    sent = [long(number) for number in range(1, 60)]
    api.send(*sent)
    go_to(database, 4 * table_partitions.RUNS_PER_PARTITION)
    api.send(long(60))
    return sent


def rule() -> RetentionRule:
    return RetentionRule(reduce_before=reports.report(60, 1).started_at)


def sums(database: Database) -> list[tuple[object, ...]]:
    return ask(database, "SELECT count(*), sum(value::numeric), count(DISTINCT run_number) FROM point")


def test_retention_returns_space_and_readers_always_see_all(api: Api, database: Database, old: list[Report]) -> None:
    whole, over, seen = sums(database), threading.Event(), []

    def read() -> None:
        while not over.is_set():
            seen.append(sums(database))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        result = apply_rule(database, rule())
    finally:
        over.set()
        reader.join()
    assert result.reduced == 59
    assert result.returned > 0
    assert set(map(tuple, seen)) == {tuple(whole)}
    assert held(database, "point")["point_p0"] == 118
    places = ask(database, "SELECT series_id, run_number FROM point_p0 ORDER BY ctid")
    assert places == sorted(places), "the points of a series lie side by side"
    assert api.send_each(old[0]) == [200]
    assert api.client.get(f"/runs/{old[0].run_id}").status_code == 200
    assert apply_rule(database, rule()).returned == 0


def test_the_newest_parts_are_left_alone(api: Api, database: Database) -> None:
    api.send(*(long(number) for number in range(1, 60)))
    go_to(database, 2 * table_partitions.RUNS_PER_PARTITION - 1)
    api.send(long(60))
    result = apply_rule(database, rule())
    assert (result.reduced, result.returned) == (59, 0)
    go_to(database, 4 * table_partitions.RUNS_PER_PARTITION)
    api.send(long(61))
    assert apply_rule(database, rule()).returned > 0, "once the parts are old"
    assert apply_rule(database, rule()).returned == 0


def test_what_an_interrupted_command_left_is_in_nobodys_way(database: Database, old: list[Report]) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("CREATE TABLE point_p0_new (x int)"))
    assert apply_rule(database, rule()).returned > 0
    assert ask(database, "SELECT to_regclass('point_p0_new')") == [(None,)]


def test_a_long_question_delays_the_exchange_and_not_the_others(database: Database, old: list[Report]) -> None:
    with database.engine.connect() as slow:
        slow.execute(text("SELECT count(*) FROM point"))  # holds its lock until the transaction ends
        working = threading.Thread(target=apply_rule, args=(database, rule()))
        working.start()
        waited = []
        for _ in range(20):
            began = time.monotonic()
            sums(database)
            waited.append(time.monotonic() - began)
            time.sleep(0.05)
        assert working.is_alive()
        assert max(waited) < 1
    working.join(60)
    assert not working.is_alive()


@pytest.mark.thorough
def test_a_part_that_is_in_use_all_the_time_is_left_for_later(
    database: Database, old: list[Report], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_partitions, "_MAX_ATTEMPTS", 2)
    with database.engine.connect() as slow:
        slow.execute(text("SELECT count(*) FROM point, report"))
        assert apply_rule(database, rule()).returned == 0
        assert ask(database, "SELECT to_regclass('point_p0_new'), to_regclass('report_p0_new')") == [(None, None)]
    assert apply_rule(database, rule()).returned > 0


def test_two_do_not_retain_at_once(database: Database, old: list[Report]) -> None:
    from service.errors import ServiceError

    with database.run_exclusively("retention"), pytest.raises(ServiceError, match="already"):
        apply_rule(database, rule())
