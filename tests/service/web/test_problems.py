from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient
from sqlalchemy import select, text, update
from werkzeug.test import TestResponse

from runner.contract.report import Case
from service.app import create_app
from service.config.settings import Config
from service.pipeline import judge_series
from service.store.engine.database import Database
from service.store.models import DriftRow, Series
from service.store.revisions import revisions
from service.store.series import series
from service.web import app_resources
from service.web.api import body
from tests.service import postgres, reports
from tests.service.apiclient import Api

SOME_RUN = f"/api/v1/runs/{UUID(int=1)}"


def assert_problem(answer: TestResponse, status: int) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/problem+json"
    problem: dict[str, Any] = answer.json
    assert problem["status"] == status
    assert problem["title"]
    assert problem["detail"]
    return problem


@pytest.mark.parametrize(
    "path",
    [
        "/nothing/here",
        "/api/v1/nothing",
        "/api/v1/runs/not-a-uuid",
        SOME_RUN,
        f"{SOME_RUN}/pyperf",
        "/api/v1/series/1",
        "/api/v1/series/99999999999999999999",
        "/api/v1/drifts/0123456789abcdef",
        "/api/v1/subjects/nobody/revisions",
    ],
)
def test_what_is_not_there(client: FlaskClient, path: str) -> None:
    assert_problem(client.get(path, headers={"Accept": "application/json"}), 404)


def test_a_wrong_method_names_the_right_ones(client: FlaskClient) -> None:
    answer = client.delete(SOME_RUN)
    assert_problem(answer, 405)
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "HEAD", "OPTIONS", "PUT"}


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_has_to_say_that_it_is_json(client: FlaskClient, media_type: str) -> None:
    problem = assert_problem(client.put(SOME_RUN, data="{}", content_type=media_type), 415)
    assert "application/json" in problem["detail"]


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "\ufeff", '{"a": ' + "9" * 5000 + "}", b"\xff\xfe\x00"])
def test_bad_json(client: FlaskClient, text: str) -> None:
    problem = assert_problem(client.put(SOME_RUN, data=text, content_type="application/json"), 400)
    assert problem["detail"].startswith("The body is ")


@pytest.mark.parametrize("text", ["null", "1", '"text"', "[]", "{}"])
def test_json_of_another_shape(client: FlaskClient, text: str) -> None:
    assert_problem(client.put(SOME_RUN, data=text, content_type="application/json"), 422)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"subject": "../etc"}, "subject"),
        ({"surprise": 1}, "surprise"),
        ({"schema_version": 2}, "schema_version"),
        ({"revision": {"commit": "abc", "committed_at": "2025-01-01T00:00:00Z"}}, "revision.commit"),
        ({"revision": {"commit": "a" * 40, "committed_at": "2025-01-01T00:00:00"}}, "revision.committed_at"),
        ({"started_at": "0001-01-01T00:00:00+14:00"}, "started_at"),
        ({"samples": [{"readings": {"minor-faults": {"value": 2**65}}}]}, "samples.0.readings.minor-faults.value"),
        ({"samples": [{"readings": {"minor-faults": {"value": "NaN"}}}]}, "samples.0.readings.minor-faults.value"),
        ({"samples": []}, ""),
        ({"case": {"workload": "w", "definition": "0" * 16, "parameters": {"a": [1]}}}, "case.parameters.a"),
    ],
)
def test_a_report_that_does_not_fit_names_the_field(api: Api, change: dict[str, Any], field: str) -> None:
    report = reports.report(1, 100)
    document = report.model_dump(mode="json") | change
    problem = assert_problem(api.client.put(f"/api/v1/runs/{report.run_id}", json=document), 422)
    assert any(error["field"].startswith(field) for error in problem["errors"]), problem
    assert api.get("/runs")["total"] == 0


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("/runs?limit=0", "limit"),
        ("/runs?offset=-1", "offset"),
        ("/runs?offset=9999999999999999999999", "offset"),
        ("/runs?outcome=great", "outcome"),
        ("/series?limit=1001", "limit"),
        ("/drifts?cause=weather", "cause"),
        ("/drifts?metrik=minor-faults", "metrik"),
    ],
)
def test_a_query_that_does_not_fit_names_the_field(client: FlaskClient, query: str, field: str) -> None:
    problem = assert_problem(client.get(f"/api/v1{query}"), 422)
    assert [error["field"] for error in problem["errors"]] == [field]


def test_a_subject_has_to_be_a_name(client: FlaskClient) -> None:
    problem = assert_problem(client.put("/api/v1/subjects/-x/revisions", json={"revisions": []}), 422)
    assert [error["field"] for error in problem["errors"]] == ["subject"]


def test_a_body_that_is_too_large(client: FlaskClient, app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert app.config["MAX_CONTENT_LENGTH"] == body.MAX_BYTES == 64 * 1024 * 1024
    app.config["MAX_CONTENT_LENGTH"] = 1000
    assert_problem(client.put(SOME_RUN, data=" " * 1001, content_type="application/json"), 413)


def test_an_error_of_our_own_tells_nothing_of_the_inside(
    api: Api, app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(revisions, "ensure_commits", crash)
    report = reports.report(1, 100)
    answer = api.put(report)
    assert_problem(answer, 500)
    assert "secret" not in answer.text
    monkeypatch.undo()
    assert api.get("/runs")["total"] == 0
    assert api.client.get("/api/v1/subjects/demo/revisions").status_code == 404


def test_a_series_that_cannot_be_judged_keeps_no_run_out(
    api: Api, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ValueError("a detector's mistake")

    monkeypatch.setattr(judge_series, "find_drifts", crash)
    assert api.send_each(reports.report(1, 100, 100), reports.report(2, 150, 150)) == [201, 201]
    assert "could not be judged" in caplog.text
    monkeypatch.undo()
    assert api.send_each(reports.report(3, 150, 150)) == [201]
    assert [drift["revision"] for drift in api.drifts()] == [reports.commit(2)]


def test_a_database_that_another_program_holds(
    api: Api, config: Config, app: APIFlask, monkeypatch: pytest.MonkeyPatch
) -> None:
    from service.web import app_resources

    app_resources.register(app, app_resources.Database(config.database_url, busy_seconds=0.1), config)
    other = sqlite3.connect(config.home / "faultwatch.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    answer = api.put(reports.report(1, 100))
    other.close()
    problem = assert_problem(answer, 503)
    assert "locked" in problem["detail"]
    assert answer.headers["Retry-After"]
    assert api.send_each(reports.report(1, 100)) == [201]


def test_while_postgresql_is_started_again_clients_are_asked_to_come_back(tmp_path: Path) -> None:
    with postgres.running() as server:
        url = server.url(server.create())
        app = create_app(Config.from_environment({"FAULTWATCH_HOME": str(tmp_path), "DATABASE_URL": url}))
        api = Api(app.test_client())
        assert api.send_each(reports.report(1, 100, 100)) == [201]
        server.kill()
        for _ in range(2):  # a connection that broke, and one that cannot be made
            answer = api.put(reports.report(2, 100, 100))
            assert_problem(answer, 503)
            assert answer.headers["Retry-After"] == "5"
        page, document = api.client.get("/runs"), api.client.get("/runs.json")
        assert (page.status_code, page.mimetype, page.headers["Retry-After"]) == (503, "text/html", "5")
        assert "does not answer" in page.text
        assert_problem(document, 503)
        assert document.headers["Retry-After"] == "5"
        server.start()
        assert api.send_each(reports.report(2, 100, 100)) == [201]
        with app.app_context():
            app_resources.get_database().close()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_while_a_standby_does_not_write_yet_clients_are_asked_to_come_back(api: Api, database: Database) -> None:
    def ask(question: str) -> None:
        with database.engine.begin() as connection:
            connection.execute(text("SET TRANSACTION READ WRITE"))
            connection.execute(text(question))

    of_database = f"ALTER DATABASE {database.url.database}"
    ask(f"{of_database} SET default_transaction_read_only = on")
    ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    for _ in range(3):  # a connection that broke, and two that lead to the standby
        answer = api.put(reports.report(1, 100, 100))
        assert_problem(answer, 503)
        assert answer.headers["Retry-After"] == "5"
    ask(f"{of_database} RESET default_transaction_read_only")
    assert api.send_each(reports.report(1, 100, 100)) == [201], "no connection to the standby is kept"


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_a_stored_drift_that_cannot_be_read_stops_neither_other_series_nor_the_start(
    api: Api, config: Config, database: Database
) -> None:
    cases = [Case(workload=name, definition="1" * 16, parameters={}) for name in ("one", "other", "third")]
    for number, faults in enumerate([100, 100, 150, 150], 1):
        api.send(*(reports.report(number, faults, faults, case=case) for case in cases))
    with database.writing() as session:
        drift = session.scalars(select(DriftRow).order_by(DriftRow.id)).first()
        assert drift is not None
        drift.document = {**drift.document, "cause": "weather"}
        session.execute(update(Series).values(version=Series.version + 1))
        broken = drift.series_id
    app = create_app(config)
    with app.app_context():
        app_resources.get_database().close()
    with database.reading() as session:
        assert set(series.map_stale_series(session)) == {broken}
