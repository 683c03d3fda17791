"""PostgreSQL can answer every page without reading all points or all runs, however many there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import Connection, Engine, event

from runner.contract import Host
from service.web import app_resources
from tests.service import reports
from tests.service.apiclient import Api

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
LARGE = ("point", "run", "report")
"""Tables that grow with each run."""
PART = re.compile(r"_p\d+$")
SMALL_INDEXES = ("ix_run_unmeasured", "ix_run_quarantined")
READS_ALL = ("Sort", "Aggregate", "Hash", "WindowAgg", "Materialize")
"""Nodes that read all that they are given before they return a row."""
Statement = tuple[str, Any]


@contextmanager
def recorded(engine: Engine) -> Iterator[list[Statement]]:
    """Record the questions that a database is asked."""
    asked: list[Statement] = []

    def record(_: Connection, __: object, statement: str, parameters: Any, ___: object, many: bool) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH")) and not many:
            asked.append((statement, parameters))

    event.listen(engine, "before_cursor_execute", record)
    try:
        yield asked
    finally:
        event.remove(engine, "before_cursor_execute", record)


def read_whole(engine: Engine, asked: list[Statement]) -> dict[str, str]:
    """Return the tables that questions can only be answered by reading whole, each with the question.

    A table this small is always scanned. So scans are forbidden, and what is left has no alternative: a scan, or an
    index from its one end to the other. A query that ends after some rows may read an index in order, and an index of
    few rows may be read whole.
    """
    found: dict[str, str] = {}
    with engine.connect() as connection:
        connection.exec_driver_sql("SET enable_seqscan = off")
        # If each page costs the same, all indexes of so small a table are as good as the best one.
        connection.exec_driver_sql("SET random_page_cost = 4")
        for statement, parameters in asked:
            plan = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar_one()
            found |= dict.fromkeys(_read_whole(plan[0]["Plan"]), statement)
    return found


def _read_whole(node: dict[str, Any], *, ends_early: bool = False) -> Iterator[str]:
    ends_early = node["Node Type"] == "Limit" or (ends_early and node["Node Type"] not in READS_ALL)
    table = PART.sub("", node.get("Relation Name", ""))
    condition = node.get("Index Cond", node.get("Recheck Cond", ""))
    # The key of points begins with the series: by runs alone, its whole index is read.
    selective = "series_id" in condition if table == "point" else condition or node.get("Index Name") in SMALL_INDEXES
    if table in LARGE and not selective and not ends_early:
        yield table
    for child in node.get("Plans", ()):
        yield from _read_whole(child, ends_early=ends_early)


@pytest.fixture
def measured(api: Api) -> list[str]:
    """Addresses of pages and answers about two series with a drift."""
    sent = [reports.report(number, *faults) for number, faults in enumerate([(100, 100)] * 4 + [(140, 140)] * 4, 1)]
    assert set(api.send_each(*sent)) == {201}
    series, (drift,) = api.series(), api.drifts()
    (entry,) = api.get("/events")["items"]
    environment = sent[0].environment.hash
    commits = f"base={reports.commit(1)}&head={reports.commit(8)}"
    return [
        *("/", "/matrix", "/matrix?metric=elapsed", "/events", "/hosts", "/hosts/box", "/runs", "/bisects", "/jobs"),
        *(f"/series/{series['id']}", f"/api/v1/series/{series['id']}?points=500", f"/drifts/{drift['id']}"),
        *(f"/events/{entry['id']}", f"/runs/{sent[0].run_id}", f"/environments/{environment}", "/environments"),
        *(f"/compare?{commits}", f"/compare.json?{commits}&metric=all", "/metrics", "/api/v1/series?limit=20"),
        f"/compare?base={sent[0].run_id}&head={sent[-1].run_id}",
    ]


def test_no_page_has_to_read_all_points_or_runs(app: APIFlask, client: FlaskClient, measured: list[str]) -> None:
    with app.app_context():
        engine = app_resources.get_database().engine
    for address in measured:
        with recorded(engine) as asked:
            answer = client.get(address)
        assert answer.status_code == 200, (address, answer.status_code)
        assert asked, address
        assert read_whole(engine, asked) == {}, address


def test_a_page_asks_as_many_questions_about_many_other_hosts_and_cases_as_about_one(
    app: APIFlask, client: FlaskClient, api: Api, measured: list[str]
) -> None:
    with app.app_context():
        engine = app_resources.get_database().engine

    def questions() -> dict[str, int]:
        counted = {}
        for address in measured:
            client.get(address)
            with recorded(engine) as asked:
                client.get(address)
            counted[address] = len(asked)
        return counted

    assert set(api.send_each(reports.report(8, 100, 100, host=Host(name="box-0")))) == {201}
    before = questions()
    others = [
        reports.report(8, 100, 100, host=Host(name=f"box-{number}"), case=case)
        for number in range(1, 6)
        for case in (reports.CASE, reports.CASE.model_copy(update={"parameters": {"number": number}}))
    ]
    assert set(api.send_each(*others)) == {201}
    assert questions() == before


def test_a_question_that_needs_a_whole_table_is_found(app: APIFlask) -> None:
    with app.app_context():
        engine = app_resources.get_database().engine
    whole = [("SELECT count(*) FROM point", ()), ("SELECT max(finished_at) FROM run WHERE outcome = 'measured'", ())]
    assert set(read_whole(engine, whole)) == {"point", "run"}
    newest = "SELECT id FROM run ORDER BY {} DESC LIMIT 5"
    assert read_whole(engine, [(newest.format("started_at"), ())]) == {}
    assert set(read_whole(engine, [(newest.format("finished_at"), ())])) == {"run"}
