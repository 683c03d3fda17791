import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import delete

from service.store.models import DriftRow
from service.web import app_resources
from tests.service.web import extreme_reports, history
from tests.service.web.application import application
from tests.service.web.text import page, read


def drift_id(client: FlaskClient, number: int) -> str:
    answer = client.get("/api/v1/drifts").json
    assert answer
    return next(str(entry["id"]) for entry in answer["items"] if entry["revision"] == history.commit(number))


def test_a_commits_drift(client: FlaskClient) -> None:
    text = read(client, f"/drifts/{drift_id(client, history.REGRESSION)}")
    assert "Hand memory back after each operation" in text
    assert "Before 2,239 faults" in text
    assert "After 18,623 faults" in text
    assert "Candidate" in text
    assert "Identical on both sides" in text
    assert "System share 4.5 % 40.8 % +36.2 points" in text
    assert f"faultwatch measure copy_service --repo . --revision {history.commit(3)[:12]}" in text
    assert f"--revision {history.commit(4)[:12]} --set mib=8 --set operations=25" in text


def test_the_address_of_a_drift_that_later_runs_moved_leads_to_its_event(tmp_path: Path) -> None:
    with application(tmp_path, history.send) as app:
        client = app.test_client()
        moved = drift_id(client, history.REGRESSION)
        with app.app_context(), app_resources.get_database().writing() as session:
            session.execute(delete(DriftRow).where(DriftRow.id == moved))
        answer = client.get(f"/drifts/{moved}")
        assert answer.status_code == 302
        assert re.fullmatch("/events/[0-9a-f]+", answer.location)
        for form, kind in (("json", "application/json"), ("csv", "text/csv")):
            assert client.get(f"/drifts/{moved}.{form}", follow_redirects=True).mimetype == kind
        assert client.get("/drifts/0000000000000000").status_code == 404


def test_a_failed_build_in_between_is_a_candidate_too(client: FlaskClient) -> None:
    text = read(client, f"/drifts/{drift_id(client, history.IMPROVEMENT)}")
    assert "Forget a semicolon" in text
    assert "any of them can be the cause" in text


def test_a_configurations_drift(client: FlaskClient) -> None:
    source, text = (show(client, f"/drifts/{drift_id(client, history.ANCHOR)}") for show in (page, read))
    assert "MALLOC_CONF not set → dirty_decay_ms:0 · Faultwatch" in text, "the title"
    assert "variable.MALLOC_CONF not set dirty_decay_ms:0" in text
    assert "Candidate" not in text
    assert "--env MALLOC_CONF=dirty_decay_ms:0" in text
    assert text.count("faultwatch profile") == 2, "the commit in each of the two environments"
    assert f"/runs/{history.run_id(history.ANCHOR)}" in source
    assert f"/runs/{history.run_id(history.ANCHOR, again=True)}" in source


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("both", "measure the older commit in the newer environment"),
        (
            "unknown",
            "Neither a commit nor a recorded setting explains the change: an unrecorded factor moved this metric.",
        ),
    ],
)
def test_a_cause_that_is_not_settled_says_so(extremes: FlaskClient, case: str, words: str) -> None:
    assert words in read(extremes, f"/drifts/{extreme_reports.drift_id(extremes, case)}")
    read(extremes, "/")


def test_a_companion_without_a_baseline_has_a_difference_and_no_percent(extremes: FlaskClient) -> None:
    drift = extreme_reports.drift_id(extremes, extreme_reports.MAIN)
    assert "Major faults 0 faults 12 faults +12 faults" in read(extremes, f"/drifts/{drift}")


def test_a_drift_that_is_not_certain_says_so(extremes: FlaskClient) -> None:
    drift = extreme_reports.drift_id(extremes, "doubtful")
    text = read(extremes, f"/drifts/{drift}")
    assert "Not confirmed yet." in text
    assert "has not reported since 20" in text, "it promises no run: the history has ended"
    series = extremes.get(f"/api/v1/drifts/{drift}").json["series_id"]
    assert "no further run is expected to confirm the change." in read(extremes, f"/series/{series}")


def test_an_unknown_drift_is_a_page_that_says_so(client: FlaskClient) -> None:
    assert "There is no such drift" in read(client, "/drifts/none", 404)


def test_profiles_are_not_ordered_by_a_person_whose_name_is_too_long(client: FlaskClient) -> None:
    (drift, *_) = client.get("/api/v1/drifts?metric=minor-faults").json["items"]
    answer = client.post("/profiles/jobs", data={"drift": drift["id"], "author": "A" * 101})
    assert answer.status_code == 422
    assert "Your name is too long: at most 100 characters are allowed." in answer.text
