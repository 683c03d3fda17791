"""Commits that were not measured are no dead ends."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import event
from sqlalchemy.engine import Engine

from runner.contract import Case, Environment, Host
from runner.contract.report import IMPORT_FORMAT
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read

HERE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
MEASURED = (0, 1, 2, 8)


def send(client: FlaskClient) -> None:
    history.send(client, [history.report(number, history.OLD) for number in MEASURED])
    history.name_commits(client, {"v1.0": 5})


@pytest.fixture
def client(tmp_path: Path) -> Iterator[FlaskClient]:
    with application(tmp_path, send) as app:
        yield app.test_client()


@pytest.mark.parametrize("address", ["/compare?base=v1.0&head=" + history.commit(8), "/runs?revision=v1.0"])
def test_the_nearest_measured_commits_are_offered(client: FlaskClient, address: str) -> None:
    text = read(client, address)
    assert f"{history.commit(5)[:10]} {history.TITLES[5]} has no measurement." in text
    assert f"3 commits before {history.commit(2)[:10]} {history.TITLES[2]}" in text
    assert f"3 commits after {history.commit(8)[:10]} {history.TITLES[8]}" in text
    assert f"faultwatch measure copy_service --repo . --revision {history.commit(5)[:12]}" in text
    source = page(client, address)
    assert history.commit(2)[:12] in source, "a link to the same page with the nearest commit"


def test_it_is_measured_by_a_click(client: FlaskClient) -> None:
    address = f"/subjects/copyd/revisions/{history.commit(5)}/measure"
    assert f'action="{address}"' in page(client, "/runs?revision=v1.0")
    answer = client.post(address, data={"case": history.CASE.name, "author": "Mara"}, headers=HERE)
    question = client.get(f"/api/v1{answer.location}").json["question"]
    assert (question["kind"], question["revision"]) == ("measure", history.commit(5))
    assert (question["case"], question["host"]) == (history.CASE.name, "lab-1")

    refused = client.post(address, data={"case": "nonsense", "author": "Mara"}, headers=HERE)
    assert refused.status_code == 422
    assert "No host has measured the case" in refused.text
    unnamed = client.post(address, data={"case": history.CASE.name, "author": "M" * 101}, headers=HERE)
    assert unnamed.status_code == 422
    unknown = client.post("/subjects/copyd/revisions/feedfeed/measure", data={"case": "x"}, headers=HERE)
    assert unknown.status_code == 404
    assert client.get("/api/v1/jobs").json["total"] == 1


def test_of_one_host_or_workload_only_its_runs_count(client: FlaskClient) -> None:
    ends = f"base={history.commit(0)}&head={history.commit(8)}"
    other = history.report(1, history.OLD).model_copy(update={"run_id": history.run_id(99), "host": Host(name="lab-2")})
    history.send(client, [other])
    assert "has no measurement" not in read(client, f"/compare?{ends}")
    text = read(client, f"/compare?{ends}&host=lab-2")
    assert f"{history.TITLES[0]} has no measurement on lab-2. The nearest" in text
    assert f"1 commit after {history.commit(1)[:10]}" in text
    assert "Base and head have no measured case in common." in read(client, f"/compare?{ends}&host=lab-3")


def test_a_commit_that_does_not_build_says_why(client: FlaskClient) -> None:
    history.send(client, [history.report(history.BROKEN, history.OLD)])
    text = read(client, f"/compare?base={history.commit(0)}&head={history.commit(history.BROKEN)}")
    assert f"{history.TITLES[history.BROKEN]} could not be measured: make ended with status 2" in text
    assert f"3 commits before {history.commit(8)[:10]}" in text


def test_imported_results_offer_no_measurement(tmp_path: Path) -> None:
    imported = Environment(settings={**history.OLD.settings, "import.format": "csv"})
    with application(tmp_path) as app:
        client = app.test_client()
        history.send(client, [history.report(number, imported) for number in MEASURED])
        text = read(client, f"/compare?base={history.commit(0)}&head={history.commit(5)}")
        assert f"3 commits before {history.commit(2)[:10]}" in text
        assert "The results of copyd were imported, so no host can measure this commit." in text
        assert "faultwatch measure" not in text


def test_a_tag_a_date_or_a_part_of_a_hash_is_found_by_the_search(client: FlaskClient) -> None:
    for text, number in (("v1.0", 5), ("v1.0~0", 5), (history.commit(5)[:7], 5), ("2025-03-08", 2)):
        hit = client.get("/search.json", query_string={"q": text}).json[0]
        assert (hit["kind"], hit["title"]) == ("revision", history.TITLES[number]), text
        assert hit["url"].endswith(history.commit(number)), "a date names a commit that was measured"
    assert [hit["kind"] for hit in client.get("/search.json?q=v1.0~99").json] == []


def test_cases_that_no_host_can_measure_are_not_offered(client: FlaskClient) -> None:
    imported = Environment(settings={IMPORT_FORMAT: "csv"})
    case = Case(workload="a_case_of_another_tool", definition="0123456789abcdef", parameters={})
    other = history.report(2, history.OLD).model_copy(
        update={"run_id": history.run_id(99), "environment": imported, "case": case}
    )
    history.send(client, [other])
    source = page(client, "/runs?revision=v1.0")
    assert f"faultwatch measure copy_service --repo . --revision {history.commit(5)[:12]}" in source
    assert "a_case_of_another_tool" not in source


def test_of_one_host_or_workload_only_its_failure_is_named(client: FlaskClient) -> None:
    ends = f"base={history.commit(8)}&head={history.commit(history.BROKEN)}"
    case = Case(workload="sort", definition="0123456789abcdef", parameters={})
    elsewhere = [{"host": Host(name="lab-2")}, {"case": case}]
    others = [
        history.report(8, history.OLD).model_copy(update={"run_id": history.run_id(number), **changes})
        for number, changes in enumerate(elsewhere, 98)
    ]
    history.send(client, [history.report(history.BROKEN, history.OLD), *others])
    failure = f"{history.TITLES[history.BROKEN]} could not be measured: make ended with status 2"
    assert failure in read(client, f"/compare?{ends}&host=lab-1&workload={history.CASE.workload}")
    for query, clause in (("host=lab-2", "on lab-2"), ("workload=sort", "of sort")):
        text = read(client, f"/compare?{ends}&{query}")
        assert f"{history.TITLES[history.BROKEN]} has no measurement {clause}." in text


def test_the_settings_of_an_environment_are_not_read_for_each_of_its_runs(tmp_path: Path) -> None:
    """Reading them for each pair of runs took seconds on an imported history."""
    imported = Environment(settings={**history.OLD.settings, IMPORT_FORMAT: "csv"})

    def count_steps(n_runs: int) -> int:
        """Return how many hundred instructions SQLite executes for the page."""
        steps = 0

        def count_step() -> int:
            nonlocal steps
            steps += 1
            return 0

        def watch(connection: sqlite3.Connection, *_: object) -> None:
            connection.set_progress_handler(count_step, 100)

        reports = [
            history.report(number, imported).model_copy(update={"run_id": uuid.uuid4()})
            for number in MEASURED
            for _ in range(n_runs)
        ]
        home = tmp_path / str(n_runs)
        home.mkdir()
        with application(home) as app:
            client = app.test_client()
            history.send(client, reports)
            event.listen(Engine, "checkout", watch)
            try:
                read(client, f"/compare?base={history.commit(0)}&head={history.commit(5)}")
            finally:
                event.remove(Engine, "checkout", watch)
        return steps

    few, many = count_steps(5), count_steps(40)
    assert few
    assert many < 10 * few
