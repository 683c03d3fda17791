"""Profiles that the service orders by itself, and those that people order by a click."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract.job import Backend, Job, JobOrder, ProfileQuestion, Where
from runner.contract.profile import Frame, Memory, StackKind, Touch
from service.jobs.drift_profiling import DriftProfiler
from service.jobs.extension import find_scheduler
from service.jobs.scheduler import JobScheduler
from service.rules.jobs import drifts_to_profile
from service.schemas.history import Cause, Drift
from service.store.jobs import Requester
from service.web import app_resources
from tests.service import made_series
from tests.service.profiles import anatomy, profile, stacks
from tests.service.web import history
from tests.service.web.application import application
from tests.service.web.text import read


class Starting:
    """Starts jobs of any host, and does nothing about them."""

    def explain_objection(self, asked: JobOrder) -> str:
        return ""

    def start(self, job: Job) -> str:
        return ""


class MeasuringElsewhere(Starting):
    """Refuses each job: its machine is another host."""

    def explain_objection(self, asked: JobOrder) -> str:
        return "this machine is another host"


def send_history(client: FlaskClient) -> None:
    history.send(client)
    client.get("/api/v1/drifts")


@pytest.fixture
def app(tmp_path: Path) -> Iterator[APIFlask]:
    with application(tmp_path, send_history) as app:
        yield app


def ordered(app: APIFlask) -> list[tuple[str, str]]:
    """Return the commits of each profile job, the oldest job first."""
    found = app.test_client().get("/api/v1/jobs?kind=profile&limit=100").json
    assert found is not None
    return [(job["question"]["against"], job["question"]["revision"]) for job in reversed(found["items"])]


def test_both_sides_of_confirmed_drifts_are_ordered_once(app: APIFlask) -> None:
    looking = DriftProfiler(find_scheduler(app))
    find_scheduler(app).starters = {}
    looking.order_profiles()
    assert ordered(app) == []  # nobody would start them
    find_scheduler(app).starters = {Backend.LOCAL: Starting()}
    looking.order_profiles()
    found = ordered(app)
    assert (history.commit(history.REGRESSION - 1), history.commit(history.REGRESSION)) in found
    assert len(found) == len(set(found)) <= drifts_to_profile.MAX_DRIFTS
    assert all(before != after for before, after in found)
    DriftProfiler(find_scheduler(app)).order_profiles()
    assert ordered(app) == found


class StartingInRepositories(Starting):
    """Starts jobs that name a repository."""

    def explain_objection(self, asked: JobOrder) -> str:
        return "" if asked.github else "the order does not name a repository"


def test_profiles_run_where_the_last_job_about_the_subject_ran(app: APIFlask) -> None:
    scheduler = find_scheduler(app)
    scheduler.starters = {Backend.GITHUB: StartingInRepositories()}
    DriftProfiler(scheduler).order_profiles()
    assert ordered(app) == []  # no repository is known
    question = ProfileQuestion(subject=history.SUBJECT, case="copy", revision="main")
    scheduler.order(JobOrder(question=question, github="octo-org/copies"), Requester("ann", Where.API))
    DriftProfiler(scheduler).order_profiles()
    assert (history.commit(history.REGRESSION - 1), history.commit(history.REGRESSION)) in ordered(app)


def test_an_order_that_failed_is_placed_by_the_next_call(app: APIFlask, monkeypatch: pytest.MonkeyPatch) -> None:
    find_scheduler(app).starters = {Backend.LOCAL: Starting()}
    looking = DriftProfiler(find_scheduler(app))
    with monkeypatch.context() as busy:
        busy.setattr(JobScheduler, "order", mock.Mock(side_effect=TimeoutError))
        with pytest.raises(TimeoutError):
            looking.order_profiles()
    looking.order_profiles()
    assert ordered(app)


def test_a_failed_job_is_not_ordered_again(app: APIFlask) -> None:
    find_scheduler(app).starters = {Backend.LOCAL: Starting()}
    DriftProfiler(find_scheduler(app)).order_profiles()
    client = app.test_client()
    found = client.get("/api/v1/jobs?kind=profile&limit=100").json
    assert found is not None
    for job in found["items"]:
        assert client.post(f"/api/v1/jobs/{job['id']}/cancel", json={"author": "ann"}).status_code == 200
    DriftProfiler(find_scheduler(app)).order_profiles()
    again = client.get("/api/v1/jobs?kind=profile&limit=100").json
    assert again is not None
    assert again["total"] == found["total"]


def drift(**changes: object) -> Drift:
    points = [made_series.point(number, 100 * number) for number in (1, 2)]
    return made_series.drift(1, points[0], points[1]).model_copy(update=changes)


def test_what_is_no_fact_or_no_commit_is_not_profiled() -> None:
    one = drift(metric="minor-faults", cause=Cause.COMMIT, revision="b" * 40, previous_revision="a" * 40)
    unsure = one.model_copy(update={"evidence": one.evidence.model_copy(update={"wants_rerun": True})})

    def asked(drifts: list[Drift]) -> list[ProfileQuestion]:
        return drifts_to_profile.list_questions_to_order(drifts, question, lambda _: False)

    def question(drift: Drift) -> ProfileQuestion:
        return ProfileQuestion(subject="s", case=drift.case, revision=drift.revision, against=drift.previous_revision)

    assert len(asked([one, one])) == 1
    assert (
        asked([unsure, one.model_copy(update={"cause": "config"}), one.model_copy(update={"metric": "elapsed"})]) == []
    )
    many = [one.model_copy(update={"revision": f"{number:040x}"}) for number in range(drifts_to_profile.MAX_DRIFTS + 3)]
    assert [entry.revision for entry in asked(many)] == [
        entry.revision for entry in many[: drifts_to_profile.MAX_DRIFTS]
    ]


def test_the_page_of_a_drift_leads_from_the_button_to_the_diagnosis(app: APIFlask) -> None:
    client = app.test_client()
    (found,) = [
        entry
        for entry in client.get("/api/v1/drifts").json["items"]  # type: ignore[index]
        if entry["revision"] == history.commit(history.REGRESSION) and entry["metric"] == "minor-faults"
    ]
    address = f"/drifts/{found['id']}"
    for starters in ({}, {Backend.LOCAL: MeasuringElsewhere()}):
        find_scheduler(app).starters = starters
        page = read(client, address)
        assert "Profile both sides" not in page
    assert f" {found['previous_revision'][:12]}..{found['revision'][:12]}" in page

    find_scheduler(app).starters = {Backend.LOCAL: Starting()}
    assert "Profile both sides" in read(client, address)
    answer = client.post("/profiles/jobs", data={"drift": found["id"], "author": "ann"})
    assert answer.status_code == 303, answer.text
    assert "records the profiles : queued" in read(client, address)

    frames = (
        Frame(function="answer", module="copyserve", file="copyserve.c", line=25),
        Frame(function="exc_page_fault", module="[kernel]"),
    )
    for number, touch, faults in (
        (history.REGRESSION - 1, Touch.FIRST, 100),
        (history.REGRESSION, Touch.AFTER_MADVISE, 9_000),
    ):
        sent = profile(
            anatomy({touch: faults}, Memory.HEAP),
            readings={"sys-percent": 50},
            subject=history.SUBJECT,
            revision=history.revision(number),
            case=history.CASE,
            host=history.report(0, history.OLD).host,
            environment=history.OLD,
            frames=frames,
            faults=stacks(StackKind.FAULTS, {(0,): faults}),
            calls={"madvise": 9},
            on_cpu=stacks(StackKind.ON_CPU, {(0,): 10**9, (0, 1): 10**9}),
            off_cpu=None,
        )
        body = json.loads(sent.model_dump_json())
        assert client.put(f"/api/v1/profiles/{sent.profile_id}", json=body).status_code == 201
    page = read(client, address)
    assert "Returned memory is touched again" in page
    assert "answer copyserve.c:25 100 9,000 ▲ +8,900" in page
    assert "Try this: allocator=tcmalloc" in page

    answer = client.post(f"/profiles/{sent.profile_id}/remedies", data={"set.allocator": "tcmalloc", "author": "ann"})
    assert answer.status_code == 303, answer.text
    jobs = client.get("/api/v1/jobs?kind=remedy").json
    assert jobs is not None
    assert jobs["items"][0]["question"]["settings"] == {"allocator": "tcmalloc"}
    assert "Returned memory is touched again" in read(
        client, f"/compare?base={found['previous_revision']}&head={found['revision']}"
    )
    with app.app_context():
        assert app_resources.get_database() is find_scheduler(app).database
