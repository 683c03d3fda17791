"""Jobs as people see them, order them and decide about them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract.number_text import format_duration
from service.jobs.extension import find_scheduler
from tests.service import reports
from tests.service.jobs_api import Jobs
from tests.service.web.application import application
from tests.service.web.text import page, read


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[APIFlask]:
    """A service with runs of a history, three of whose commits could have brought its drift."""
    with application(tmp_path_factory.mktemp("jobs")) as app:
        client = app.test_client()
        listed = [reports.revision(number).model_dump(mode="json") for number in range(1, 9)]
        assert client.put("/api/v1/subjects/demo/revisions", json={"revisions": listed}).status_code == 200
        for number in (1, 2, 6, 7, 8):
            report = reports.report(number, 100 if number < 3 else 104)
            sent = client.put(f"/api/v1/runs/{report.run_id}", json=report.model_dump(mode="json"))
            assert sent.status_code == 201
        yield app


@pytest.fixture
def client(app: APIFlask) -> FlaskClient:
    return app.test_client()


def test_without_jobs_the_page_says_how_one_is_ordered(empty: FlaskClient) -> None:
    assert "No job is open." in read(empty, "/jobs")
    assert "faultwatch job run" in read(empty, "/jobs?state=all")
    assert read(empty, "/jobs/1", 404)
    assert empty.get("/jobs.json").json["items"] == []


def test_a_drift_is_bisected_by_its_button_and_followed(client: FlaskClient) -> None:
    (drift,) = client.get("/api/v1/drifts").json["items"]
    assert "Bisect this" in page(client, f"/drifts/{drift['id']}")
    answer = client.post("/jobs", data={"drift": drift["id"], "author": "Ada"})
    assert answer.status_code == 303
    job = client.get(f"{answer.location}.json").json
    assert (job["asked_by"], job["asked_in"], job["question"]["drift"]) == ("Ada", "dashboard", drift["id"])
    before = client.get("/live?jobs=1").text
    jobs = Jobs(client)
    lease = jobs.claim(job)["lease"]
    runs = [client.get(f"/api/v1/runs?revision={reports.commit(6)}").json["items"][0]["run_id"]]
    jobs.post(f"/{job['id']}/progress", lease=lease, measured=runs, runs_left=3, seconds_left=190, sentence="One of 4.")
    assert client.get("/live?jobs=1").text != before
    text = read(client, answer.location)
    assert "1 of about 4 runs" in text
    assert "about 3 min left" in text
    assert "One of 4." in text
    assert f"/runs/{runs[0]}" in page(client, answer.location)
    drift_page = page(client, f"/drifts/{drift['id']}")
    assert "Bisect this" not in drift_page
    assert f"Job {job['id']} bisects this drift" in drift_page
    assert "1 open job" in read(client, "/")
    for beyond in ("/jobs?offset=100", "/bisects?offset=100"):
        assert "There are no more entries. Show the first ones" in read(client, beyond)
    assert "1 job " in read(client, "/jobs?state=nonsense"), "all are listed"
    assert "Which commit moved minor faults?" in read(client, "/jobs")
    with client.application.app_context():
        find_scheduler().record_ended_process(job["id"], 1, "Its process was killed.")
    assert "min left" not in read(client, answer.location), "nobody knows how long a lost job takes"
    assert client.get(f"{answer.location}.json").json["seconds_left"] is None


def test_a_job_is_paused_resumed_and_cancelled_by_its_buttons(client: FlaskClient) -> None:
    job = Jobs(client).order(question={"bad": reports.commit(8)})
    address = f"/jobs/{job['id']}"
    assert client.post(f"{address}/pause", data={"author": "Ada", "reason": "the host is needed"}).status_code == 303
    text = read(client, address)
    assert "Paused Ada" in text
    assert "the host is needed" in text
    assert "Resume" in text
    again = client.post(f"{address}/pause", data={"author": "Ada"})
    assert again.status_code == 409
    assert "cannot be paused" in again.text
    client.post(f"{address}/resume", data={"author": "Ada"})
    client.post(f"{address}/cancel", data={"author": "Ada"})
    assert Jobs(client).states(job)[-2:] == ["queued", "cancelled"]
    assert "Cancel the job" not in page(client, address)
    assert client.post(f"{address}/explode").status_code in {404, 405}
    assert client.post("/jobs/99/pause").status_code == 404


def test_a_job_that_tries_settings_names_them(client: FlaskClient) -> None:
    settings = {"allocator": "jemalloc", "variable.MALLOC_CONF": None}
    question = {
        "kind": "remedy",
        "subject": "demo",
        "case": "loop",
        "revision": reports.commit(6),
        "settings": settings,
    }
    job = client.post("/api/v1/jobs", json={"question": question, "backend": "caller"}).json
    asked = f"What changes at {reports.commit(6)[:10]} with allocator=jemalloc, without variable.MALLOC_CONF?"
    for address in (f"/jobs/{job['id']}", "/jobs?state=all"):
        text = read(client, address)
        assert asked in text
        assert "What are the counts of" not in text


@pytest.mark.parametrize("profiles", [5, "x", ["no id"], {"a": 1}, None])
def test_a_result_that_makes_no_sense_breaks_no_page(client: FlaskClient, profiles: object) -> None:
    jobs = Jobs(client)
    job = jobs.order(question={"case": f"profiled {profiles}"})
    lease = jobs.claim(job, host=f"host-{len(str(profiles))}")["lease"]
    jobs.post(f"/{job['id']}/finish", lease=lease, outcome="done", sentence="", result={"profiles": profiles})
    assert read(client, f"/jobs/{job['id']}")
    assert read(client, "/jobs?state=all")


def test_a_bisect_that_is_over_tells_its_runs(client: FlaskClient) -> None:
    jobs = Jobs(client)
    job = jobs.order(question={"bad": reports.commit(7)})
    lease = jobs.claim(job, host="elsewhere")["lease"]
    jobs.post(f"/{job['id']}/finish", lease=lease, outcome="done", sentence="", result={"commits": 1})
    text = read(client, f"/jobs/{job['id']}")
    assert "0 runs" in text
    assert "profiles" not in text.lower().replace("jobs bisects profiles hosts", "")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1 s"), (59, "59 s"), (190, "3 min"), (7800, "2 h 10 min"), (7200, "2 h"), (90_000, "1 d 1 h")],
)
def test_durations_have_two_units_at_most(seconds: float, told: str) -> None:
    assert format_duration(seconds).replace("\xa0", " ") == told
