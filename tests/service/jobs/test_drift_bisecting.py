"""The next step of a drift that several commits could have caused: nothing, an offer, or a bisect by the service."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract import Report
from runner.contract.commit_search import Culprit, Found, NothingToFind, Proof, ProofState, RequestSummary, Search
from runner.contract.job import Backend, Job, JobOrder
from runner.contract.report import IMPORT_FORMAT
from service.jobs.drift_bisecting import DriftBisector
from service.jobs.extension import find_scheduler
from service.notify.message import compose_message
from service.pipeline import next_bisect
from service.rules.jobs.bisect_allowance import MAX_RUNS
from service.store.events import events
from service.store.models import ForgeGate, ForgePull
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import page, read

GAP = (history.REGRESSION - 2, history.REGRESSION - 1)
"""Commits that are not measured: three could have caused the regression."""
AT = datetime.now(UTC) - timedelta(hours=1)


class Starting:
    """Starts jobs of any host, and does nothing about them."""

    def explain_objection(self, asked: JobOrder) -> str:
        return ""

    def start(self, job: Job) -> str:
        return ""


def measured(**changes: Any) -> list[Report]:
    """Return the history up to an hour ago, with a gap before the regression, which more runs have confirmed."""
    numbers = [number for number in range(history.ANCHOR) if number not in GAP]
    runs = [history.report(number, history.OLD) for number in numbers]
    runs += [
        run.model_copy(update={"run_id": uuid.uuid5(run.run_id, str(number))})
        for run in runs[:3]
        for number in range(4)
    ]
    return [run.model_copy(update={"started_at": AT, "finished_at": AT} | changes) for run in runs]


def send_measured(client: FlaskClient) -> None:
    history.send(client, measured())
    client.get("/api/v1/drifts")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[APIFlask]:
    with application(tmp_path, send_measured) as app:
        find_scheduler(app).starters = {Backend.LOCAL: Starting()}
        yield app


@pytest.fixture
def client(app: APIFlask) -> FlaskClient:
    return app.test_client()


def choose(client: FlaskClient, policy: str) -> None:
    body = {"bisect_policy": policy, "author": "ann"}
    answer = client.patch(f"/api/v1/subjects/{history.SUBJECT}", json=body)
    assert (answer.status_code, answer.json["bisect_policy"]) == (200, policy)


def bisects(client: FlaskClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get("/api/v1/jobs?kind=bisect").json["items"]
    return found


def event(client: FlaskClient) -> dict[str, Any]:
    items = client.get(f"/api/v1/events?subject={history.SUBJECT}").json["items"]
    (found,) = [item for item in items if item["revision"] == history.commit(history.REGRESSION)]
    detail: dict[str, Any] = client.get(f"/api/v1/events/{found['id']}").json
    return detail


def work(app: APIFlask) -> None:
    DriftBisector(find_scheduler(app)).work()


def end(client: FlaskClient, job: dict[str, Any], commit: str, asked: RequestSummary | None = None) -> None:
    """Carry out a bisect that names a commit, proven."""
    proof = Proof(state=ProofState.STANDS, sentence="", parent_run=uuid.uuid4(), run=uuid.uuid4())
    culprit = Culprit(commit=commit, parent=commit, before=1, after=2, candidates=(commit,), proof=proof)
    end_with(client, job, Found(culprits=(culprit,)), asked)


def end_with(
    client: FlaskClient, job: dict[str, Any], answer: Found | NothingToFind, asked: RequestSummary | None = None
) -> None:
    lease = client.post(f"/api/v1/jobs/{job['id']}/claim", json={"host": "lab-1"}).json["lease"]
    search = Search(commits=3, stored_runs=4, answer=answer, request=asked)
    body = {"lease": lease, "outcome": "done", "sentence": "found", "result": search.model_dump(mode="json")}
    assert client.post(f"/api/v1/jobs/{job['id']}/finish", json=body).status_code == 200


def test_by_default_the_event_offers_the_bisect_and_orders_none(app: APIFlask, client: FlaskClient) -> None:
    work(app)
    assert bisects(client) == []
    step = event(client)["next_step"]
    assert (step["commits"], step["runs"], step["policy"]) == (3, 4, "ask")
    address = f"/events/{event(client)['id']}"
    text = read(client, address)
    assert "3 candidates" in text
    assert f"about {step['runs']} measurements, then the proof" in text
    good, bad = history.commit(GAP[0] - 1)[:12], history.commit(history.REGRESSION)[:12]
    assert f"{good}..{bad}" in step["command"]
    assert "copy_service[mib=8,operations=25]" in step["command"]
    answer = client.post("/jobs", data={"drift": step["drift"], "author": "ann"})
    assert answer.status_code == 303
    (job,) = bisects(client)
    assert job["question"]["drift"] == step["drift"]
    assert event(client)["next_step"] is None  # it was ordered
    assert f"Bisect {job['id']}" in read(client, address)


def test_a_notification_offers_it_too(app: APIFlask, client: FlaskClient) -> None:
    with find_scheduler(app).database.reading() as session:
        summaries = events.list_summaries(session, [event(client)["id"]])
        steps = next_bisect.find_next_steps(session, summaries, datetime.now(UTC))
    message = compose_message("key", summaries, "https://faults.example.org", steps)
    (offer,) = [line for line in message.lines if line.startswith("Next: ")]
    assert offer.startswith("Next: bisect the commits with about 4 measurements, in a clone: faultwatch bisect ")


def test_the_event_names_both_ends_of_its_range(client: FlaskClient) -> None:
    """The level of the last commit is in doubt: the first commit that is surely bad lies after it."""
    found = event(client)
    assert found["first_bad"] == found["candidates"][-1]["commit"]
    good, bad = found["previous_revision"][:10], found["first_bad"][:10]
    assert f"After {good} , up to {bad}" in read(client, f"/events/{found['id']}")


def test_off_means_nothing(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "off")
    work(app)
    assert bisects(client) == []
    assert event(client)["next_step"] is None
    assert "then the proof" not in read(client, f"/events/{event(client)['id']}")


def test_the_service_orders_it_once_and_the_result_names_the_commit(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    work(app)
    (job,) = bisects(client)
    assert (job["asked_by"], job["max_runs"], job["question"]["host"]) == ("service", MAX_RUNS, "lab-1")
    assert job["question"]["good"] == history.commit(GAP[0] - 1)
    assert event(client)["blamed"].startswith("one of 3 commits")

    end(client, job, history.commit(GAP[1]))
    found = event(client)
    assert (found["blamed"], found["bisect"]) == (history.TITLES[GAP[1]], job["id"])
    assert [culprit["commit"] for culprit in found["culprits"]] == [history.commit(GAP[1])]
    assert history.TITLES[GAP[1]] in read(client, f"/drifts/{found['drifts'][0]['drift_id']}").split("Before")[0]
    assert "Proven by bisect" in read(client, f"/events/{found['id']}")
    assert history.TITLES[GAP[1]] in page(client, "/")
    work(app)
    assert len(bisects(client)) == 1

    # The name stays when the event is made again.
    late = history.report(history.ANCHOR, history.OLD).model_copy(update={"started_at": AT, "finished_at": AT})
    history.send(client, [late])
    client.get("/api/v1/drifts")
    assert event(client)["blamed"] == history.TITLES[GAP[1]]


@pytest.mark.parametrize(
    ("changes", "is_the_same"),
    [
        ({}, True),
        ({"good": history.commit(GAP[0] - 2)}, False),
        ({"bad": history.commit(history.REGRESSION + 1)}, False),
        ({"metric": "major-faults"}, False),
        ({"host": "lab-2"}, False),
    ],
)
def test_a_bisect_of_the_command_line_over_the_same_range_names_the_commit(
    client: FlaskClient, changes: dict[str, Any], is_the_same: bool
) -> None:
    good, bad = history.commit(GAP[0] - 1), history.commit(history.REGRESSION)
    question = {"kind": "bisect", "subject": history.SUBJECT, "case": history.CASE.name, "good": good, "bad": bad}
    order = {"question": question | {"host": "lab-1"}, "author": "ann", "backend": "caller"}
    job = client.post("/api/v1/jobs", json=order).json
    asked = {
        "good": good,
        "bad": bad,
        "host": "lab-1",
        "environment": "0" * 16,
        "metric": "minor-faults",
        "min_difference": 0,
    }
    end(client, job, history.commit(GAP[1]), RequestSummary(case=history.CASE, **(asked | changes)))
    found = event(client)
    if is_the_same:
        assert (found["blamed"], found["bisect"]) == (history.TITLES[GAP[1]], job["id"])
        assert found["next_step"] is None
        assert "Proven by bisect" in read(client, f"/events/{found['id']}")
    else:
        assert found["culprits"] == []


def test_an_event_of_builds_that_differ_by_themselves_is_folded(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    (job,) = bisects(client)
    assert not event(client)["below_floor"]
    refused = NothingToFind(sentence="Not proven: builds of one revision differ as much.", only_builds=True)
    end_with(client, job, refused)
    found = event(client)
    assert (found["below_floor"], found["culprits"]) == (True, [])
    sentence = "the difference comes from their builds or from the folders, not from what the commits changed."
    assert f"built commits again: {sentence}" in read(client, f"/events/{found['id']}")
    work(app)
    assert len(bisects(client)) == 1


def test_a_newer_bisect_replaces_all_that_an_earlier_one_said(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    (job,) = bisects(client)
    end(client, job, history.commit(GAP[1]))
    assert event(client)["culprits"]
    order = {"question": job["question"], "author": "ann", "backend": "caller"}
    repeated_job = client.post("/api/v1/jobs", json=order).json
    refused = NothingToFind(sentence="Not proven: builds of one revision differ as much.", only_builds=True)
    end_with(client, repeated_job, refused)
    found = event(client)
    assert (found["culprits"], found.get("bisect"), found["below_floor"]) == ([], None, True)
    assert found["blamed"] != history.TITLES[GAP[1]]


def test_a_failed_bisect_is_not_ordered_again(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    (job,) = bisects(client)
    assert client.post(f"/api/v1/jobs/{job['id']}/cancel", json={"author": "ann"}).status_code == 200
    work(app)
    assert len(bisects(client)) == 1


def test_nothing_is_ordered_while_a_host_measures_or_where_nothing_starts_jobs(
    app: APIFlask, client: FlaskClient
) -> None:
    choose(client, "do")
    find_scheduler(app).starters = {}
    work(app)
    find_scheduler(app).starters = {Backend.LOCAL: Starting()}
    now = datetime.now(UTC)
    newest = history.report(history.ANCHOR, history.OLD).model_copy(update={"started_at": now, "finished_at": now})
    history.send(client, [newest])
    client.get("/api/v1/drifts")
    work(app)
    assert bisects(client) == []


def test_it_gives_way_to_what_a_person_orders_and_goes_on_afterwards(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    (own,) = bisects(client)
    lease = client.post(f"/api/v1/jobs/{own['id']}/claim", json={"host": "lab-1"}).json["lease"]
    question = {"kind": "measure", "subject": history.SUBJECT, "case": history.CASE.name, "host": "lab-1"}
    order = {"question": question | {"revision": "main"}, "author": "ann"}
    asked = client.post("/api/v1/jobs", json=order).json
    work(app)
    paused = client.get(f"/api/v1/jobs/{own['id']}").json
    assert (paused["state"], paused["sentence"]) == (
        "paused",
        "A job that a person requested for the host comes first.",
    )
    assert client.post(f"/api/v1/jobs/{own['id']}/progress", json={"lease": lease}).json["instruction"] == "pause"
    work(app)
    assert len(bisects(client)) == 1, "it orders no other one meanwhile"
    client.post(f"/api/v1/jobs/{asked['id']}/cancel", json={"author": "ann"})
    work(app)
    assert client.get(f"/api/v1/jobs/{own['id']}").json["state"] in {"queued", "dispatched"}


def test_it_ends_when_somebody_has_decided_about_the_event(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    work(app)
    (own,) = bisects(client)
    body = {"action": "expect", "reason": "needs these pages", "author": "ann"}
    assert client.post(f"/api/v1/events/{event(client)['id']}/decisions", json=body).status_code in {200, 201}
    work(app)
    ended = client.get(f"/api/v1/jobs/{own['id']}").json
    assert (ended["state"], ended["sentence"]) == (
        "cancelled",
        "The event is expected, so its commit no longer needs to be found.",
    )


def test_the_commits_of_an_open_pull_request_are_never_built(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    with find_scheduler(app).database.writing() as session:
        pull = ForgePull(repository="github:o/r", number=7)
        session.add(pull)
        session.flush()
        gate = ForgeGate(pull_id=pull.id, head=history.commit(GAP[1]))
        session.add(gate)
    work(app)
    assert bisects(client) == []
    with find_scheduler(app).database.writing() as session:
        session.get_one(ForgeGate, 1).merged_at = AT
    DriftBisector(find_scheduler(app)).work()
    assert len(bisects(client)) == 1


def test_the_runs_of_a_day_bound_what_it_orders(app: APIFlask, client: FlaskClient) -> None:
    choose(client, "do")
    DriftBisector(find_scheduler(app), runs_a_day=17).work()
    (own,) = bisects(client)
    assert own["max_runs"] == 17
    client.post(f"/api/v1/jobs/{own['id']}/cancel", json={"author": "ann"})


@pytest.mark.parametrize(
    "changes",
    [
        {"environment": history.OLD.model_copy(update={"settings": {**history.OLD.settings, IMPORT_FORMAT: "csv"}})},
        {"started_at": AT - timedelta(days=60), "finished_at": AT - timedelta(days=60)},
    ],
    ids=["imported", "retired"],
)
def test_what_no_host_can_measure_is_neither_bisected_nor_offered(changes: dict[str, Any], tmp_path: Path) -> None:
    with application(tmp_path) as app:
        find_scheduler(app).starters = {Backend.LOCAL: Starting()}
        client = app.test_client()
        history.send(client, measured(**changes))
        client.get("/api/v1/drifts")
        choose(client, "do")
        work(app)
        assert bisects(client) == []
        assert event(client)["blamed"].startswith("one of 3 commits")
        assert event(client)["next_step"] is None


def test_the_policy_is_set_on_a_page_and_logged(client: FlaskClient) -> None:
    assert history.SUBJECT in read(client, "/subjects")
    form = {"bisect_policy": "do", "author": "ann"}
    assert client.post(f"/subjects/{history.SUBJECT}", data=form).status_code == 303
    assert client.get(f"/api/v1/subjects/{history.SUBJECT}").json["bisect_policy"] == "do"
    assert client.get("/api/v1/subjects").json["total"] == 1
    entry = client.get("/api/v1/audit").json["items"][0]
    assert (entry["action"], entry["target"], entry["author"]) == ("subject changed", "subject copyd", "ann")
    assert entry["detail"] == {"bisect policy": "do", "before": "ask"}
    assert client.post("/subjects/copyd", data=form | {"bisect_policy": "maybe"}).status_code == 422
    assert client.post("/subjects/nobody", data=form).status_code == 404
    assert client.patch("/api/v1/subjects/nobody", json=form).status_code == 404
