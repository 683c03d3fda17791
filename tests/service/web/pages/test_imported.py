"""Imported results: the pages offer only what can be done with them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from runner.contract import Environment
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import read

IMPORTED = Environment(settings={**history.OLD.settings, "import.format": "csv"})
HERE = {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    with application(Path(tmp_path_factory.mktemp("service"))) as app:
        client = app.test_client()
        history.send(client, [history.report(number, IMPORTED) for number in range(10)])
        yield client


def test_a_drift_of_imported_results_offers_nothing_that_cannot_work(client: FlaskClient) -> None:
    drift = client.get("/api/v1/drifts").json["items"][-1]
    text = read(client, f"/drifts/{drift['id']}")
    assert "These results were imported, so no host can profile them." in text
    for offer in ("Prove this", "Bisect this", "faultwatch ", "Profile both sides", "Reproduce"):
        assert offer not in text
    event = client.get("/events.json?state=all").json["items"][-1]
    text = read(client, f"/events/{event['id']}")
    assert "These results were imported, so no host can bisect or profile them." in text
    assert "faultwatch " not in text


def test_an_event_of_several_known_commits_says_how_to_find_the_one(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        measured = (0, 1, 2, 8, 9)
        history.send(client, [history.report(number, IMPORTED) for number in measured])
        events = client.get("/events.json?state=all").json["items"]
        event = next(event for event in events if event["n_candidates"] > 1 and event["candidates_known"])
        text = read(client, f"/events/{event['id']}")
    assert "measure some of the candidates with the same tool, and import the results" in text
    assert "--repo" not in text


def test_an_event_of_a_commit_or_the_configuration_says_how_to_tell_them_apart(tmp_path: Path) -> None:
    """It has no table of orders that nobody executes."""
    with application(tmp_path) as app:
        client = app.test_client()
        old, new = (Environment(settings={"allocator": name, "import.format": "csv"}) for name in ("glibc", "jemalloc"))
        before, after = (
            reports.proven(100, 100, 100, environment=old),
            reports.repeated(4, 150, times=6, environment=new),
        )
        Api(client).send(*before, *after)
        (event,) = client.get("/api/v1/events").json["items"]
        assert event["cause"] == "both"
        text = read(client, f"/events/{event['id']}")
    assert "measure the commit before it in the new configuration, and import the result" in text
    assert "not measured" not in text
    assert "Commit or configuration?" not in text


def test_a_drift_in_doubt_waits_for_no_run_of_a_host(client: FlaskClient) -> None:
    drifts = client.get("/api/v1/drifts").json["items"]
    doubtful = [drift for drift in drifts if drift["evidence"]["wants_rerun"]]
    assert doubtful
    for drift in doubtful:
        text = read(client, f"/drifts/{drift['id']}")
        assert "These results were imported, so only an import of later results can confirm the change." in text
        assert "one more run" not in text


def test_a_run_that_was_imported_has_no_command(client: FlaskClient) -> None:
    run = client.get("/api/v1/runs").json["items"][0]["run_id"]
    assert "faultwatch measure" not in read(client, f"/runs/{run}")


def test_a_case_of_imported_results_without_a_drift_names_no_command(client: FlaskClient) -> None:
    calm = history.CASE.model_copy(update={"definition": "e" * 16})
    reports = [history.report(number, IMPORTED) for number in range(2)]
    changes = [{"case": calm, "run_id": history.run_id(200 + number)} for number in range(2)]
    history.send(client, [report.model_copy(update=change) for report, change in zip(reports, changes, strict=True)])
    entries = client.get("/workloads.json").json
    key = next(entry["key"] for entry in entries if entry["definition"] == calm.definition)
    text = read(client, f"/cases/{key}")
    assert "These results were imported, so no host can measure more commits" in text
    assert "faultwatch history" not in text


def test_a_bisect_of_imported_results_is_refused_before_it_is_queued(client: FlaskClient) -> None:
    form = {
        "subject": "copyd",
        "case": history.CASE.name,
        "good": history.commit(0),
        "bad": history.commit(9),
        "author": "Mara",
    }
    answer = client.post("/bisects", data=form, headers=HERE)
    assert answer.status_code == 422
    assert "were imported, so no host can measure the case again" in answer.text
    assert client.get("/api/v1/jobs").json["total"] == 0


def test_releases_of_commits_that_nothing_connects_are_in_the_order_of_their_measurements(tmp_path: Path) -> None:
    with application(tmp_path) as app:
        client = app.test_client()
        sent = [history.report(number, IMPORTED) for number in range(10)]
        alone = [run.model_copy(update={"revision": run.revision.model_copy(update={"parents": ()})}) for run in sent]
        body = {"reports": [run.model_dump(mode="json") for run in alone]}
        assert client.post("/api/v1/runs", json=body).status_code == 200
        between = client.get(f"/releases/{history.commit(0)}...{history.commit(9)}.json").json
        assert (between["connected"], between["commits"]) == (False, 9)
        (change,) = between["changes"]
        assert (change["before"], change["after"]) == (2239, 18624)
        assert "does not know how these commits are connected" in read(
            client, f"/releases/{history.commit(0)}...{history.commit(9)}"
        )
