"""Jobs, from the order to the end, as people and runners see them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from service.app import create_app
from service.config.access import Access
from service.config.settings import Config
from service.jobs.extension import find_scheduler
from service.jobs.scheduler import JobScheduler
from service.rules.access.scope import Scope
from service.store import tokens
from service.web.app_resources import get_database
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.jobs_api import QUESTION, Jobs

RUNS = [str(reports.report(number, 1).run_id) for number in range(1, 4)]


@pytest.fixture
def config(config: Config) -> Config:
    """Settings of a service that starts no jobs by itself."""
    return config.copy_with_values(jobs_here=False)


@pytest.fixture
def jobs(client: FlaskClient) -> Jobs:
    return Jobs(client)


@pytest.fixture
def late(app: Flask) -> JobScheduler:
    """What sees to the jobs, ten minutes later."""
    return replace(find_scheduler(app), now=lambda: datetime.now(UTC) + timedelta(minutes=10))


def test_a_job_is_ordered_taken_on_told_of_and_done(jobs: Jobs) -> None:
    job = jobs.order(author="mara")
    assert (job["state"], job["asked_by"], job["asked_in"], job["backend"]) == ("queued", "mara", "api", "caller")
    lease = jobs.claim(job)
    assert (lease["job"]["state"], lease["job"]["host"]) == ("running", "box")
    told = {"lease": lease["lease"], "measured": RUNS[:2], "runs_left": 3, "seconds_left": 40, "sentence": "2 of 5"}
    assert jobs.post(f"/{job['id']}/progress", **told) == {"instruction": "continue", "reason": ""}
    assert jobs.post(f"/{job['id']}/progress", **told)["instruction"] == "continue"
    found = jobs.get(job)
    assert (found["runs"], found["runs_left"], found["seconds_left"], found["sentence"]) == (RUNS[:2], 3, 40, "2 of 5")
    end = {"lease": lease["lease"], "outcome": "done", "sentence": "It was 00007.", "result": {"kind": "found"}}
    for _ in range(2):  # the answer to the first may have been lost
        found = jobs.post(f"/{job['id']}/finish", measured=RUNS[2:], **end)
    assert (found["state"], found["runs"], found["result"]) == ("done", RUNS, {"kind": "found"})
    assert jobs.states(job) == ["queued", "running", "done"]


def test_the_answer_to_an_order_says_where_the_job_is(jobs: Jobs, client: FlaskClient) -> None:
    answer = client.post("/api/v1/jobs", json={"question": QUESTION})
    assert answer.status_code == 201
    assert client.get(answer.headers["Location"]).json == answer.json
    assert "Location" not in client.post("/api/v1/jobs", json={"question": QUESTION}).headers, "nothing was made"


def test_the_same_question_is_the_same_job_while_that_is_open(jobs: Jobs) -> None:
    job = jobs.order()
    assert jobs.order(200)["id"] == job["id"]
    assert jobs.order(question={"bad": reports.commit(8)})["id"] != job["id"]
    jobs.post(f"/{job['id']}/cancel", reason="not needed")
    assert jobs.order()["id"] != job["id"]


def test_a_drift_fills_the_question_in(jobs: Jobs, api: Api) -> None:
    api.put_revisions(*range(1, 7))
    api.send(*(reports.report(number, 100 if number < 4 else 104) for number in (1, 2, 3, 5, 6)))
    (drift,) = api.drifts()
    question = jobs.post("", 201, drift=drift["id"])["question"]
    assert (question["good"], question["bad"]) == (reports.commit(3), reports.commit(5))
    assert (question["host"], question["metric"], question["drift"]) == ("box", "minor-faults", drift["id"])
    assert "there is no drift" in jobs.post("", 422, drift="0" * 16)["detail"]


def test_a_runner_hears_of_a_pause_and_the_job_goes_on_later(jobs: Jobs) -> None:
    job = jobs.order()
    first = jobs.claim(job)["lease"]
    jobs.post(f"/{job['id']}/pause", author="mara", reason="the host is needed")
    assert jobs.post(f"/{job['id']}/progress", lease=first) == {"instruction": "pause", "reason": "the host is needed"}
    jobs.post(f"/{job['id']}/finish", lease=first, outcome="stopped", sentence="told to", measured=RUNS[:1])
    assert jobs.get(job)["state"] == "paused"
    assert "cannot be claimed" in jobs.claim(job, 409)["detail"]
    jobs.post(f"/{job['id']}/resume")
    second = jobs.claim(job)["lease"]
    assert "does not hold its lease" in jobs.post(f"/{job['id']}/progress", 409, lease=first)["detail"]
    jobs.post(f"/{job['id']}/finish", lease=second, outcome="done", sentence="found")
    assert jobs.states(job) == ["queued", "running", "paused", "queued", "running", "done"]
    assert jobs.get(job)["runs"] == RUNS[:1]


def test_a_heartbeat_after_the_end_of_the_work_does_not_keep_the_host_busy(jobs: Jobs) -> None:
    job, other = jobs.order(), jobs.order(question={"bad": reports.commit(8)})
    lease = jobs.claim(job)["lease"]
    jobs.post(f"/{job['id']}/finish", lease=lease, outcome="done", sentence="found")
    assert jobs.post(f"/{job['id']}/progress", lease=lease)["instruction"] == "stop"
    jobs.claim(other)


def test_a_runner_hears_that_its_job_was_cancelled(jobs: Jobs) -> None:
    job = jobs.order()
    lease = jobs.claim(job)["lease"]
    jobs.post(f"/{job['id']}/cancel", reason="fixed by hand")
    assert jobs.post(f"/{job['id']}/progress", lease=lease) == {"instruction": "stop", "reason": "fixed by hand"}
    jobs.post(f"/{job['id']}/finish", lease=lease, outcome="stopped", sentence="told to")
    assert jobs.get(job)["state"] == "cancelled"
    assert "cannot be resumed" in jobs.post(f"/{job['id']}/resume", 409)["detail"]


def ordered(job: dict[str, Any]) -> str:
    return f", which {job['asked_by']} ordered" if job["asked_by"] else ""


def test_one_host_has_one_job_at_a_time_and_one_job_one_host(jobs: Jobs) -> None:
    job, other = jobs.order(), jobs.order(question={"bad": reports.commit(8)})
    lease = jobs.claim(job)["lease"]
    assert jobs.claim(other, 409)["detail"] == (
        f"Job {other['id']} is waiting: the host box is busy with job {job['id']}, a bisect of "
        f"{job['question']['case']}{ordered(job)}; `faultwatch job pause {job['id']}` frees the host."
    )
    assert "the host box has already claimed job" in jobs.claim(job, 409, host="barn")["detail"]
    jobs.claim(other, host="barn")
    jobs.post(f"/{job['id']}/finish", lease=lease, outcome="failed", sentence="it does not build")
    third = jobs.order(question={"bad": reports.commit(7)})
    jobs.claim(third)


def test_the_same_host_may_take_its_job_on_again(jobs: Jobs) -> None:
    """Its runner was killed, and here is the next one."""
    job = jobs.order()
    first, second = jobs.claim(job)["lease"], jobs.claim(job)["lease"]
    jobs.post(f"/{job['id']}/progress", 409, lease=first)
    jobs.post(f"/{job['id']}/progress", lease=second)


def test_a_job_for_one_host_is_not_for_another(jobs: Jobs) -> None:
    job = jobs.order(question={"host": "barn"})
    assert "is for the host barn" in jobs.claim(job, 409)["detail"]


def test_a_runner_that_is_not_heard_of_has_lost_its_job_and_may_take_it_on_again(
    jobs: Jobs, late: JobScheduler
) -> None:
    job = jobs.order()
    lease = jobs.claim(job)["lease"]
    replace(late, now=lambda: datetime.now(UTC)).work()
    assert jobs.get(job)["state"] == "running"
    late.work()
    assert jobs.get(job)["state"] == "lost"
    jobs.post(f"/{job['id']}/progress", 409, lease=lease)
    jobs.claim(job, host="barn")
    assert jobs.get(job)["attempts"] == 2


def test_a_deadline_ends_a_job(jobs: Jobs, late: JobScheduler) -> None:
    soon = datetime.now(UTC) + timedelta(minutes=5)
    job = jobs.order(deadline_at=soon.isoformat())
    late.work()
    found = jobs.get(job)
    assert (found["state"], found["sentence"]) == ("failed", "The deadline has passed.")
    assert "must be in the future" in jobs.order(422, deadline_at="2020-01-01T00:00:00Z")["detail"]


def test_jobs_are_listed_by_what_is_asked(jobs: Jobs, api: Api) -> None:
    first = jobs.order()
    question = {"kind": "profile", "subject": "x", "case": reports.CASE.name, "revision": "main"}
    second = jobs.post("", 201, question=question)
    jobs.post(f"/{first['id']}/cancel")
    assert [one["id"] for one in api.get("/jobs")["items"]] == [second["id"], first["id"]]
    assert [one["id"] for one in api.get("/jobs", open="true")["items"]] == [second["id"]]
    assert [one["id"] for one in api.get("/jobs", kind="bisect", subject="demo")["items"]] == [first["id"]]
    assert api.get("/jobs", limit=1)["total"] == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"repository": "/home/somebody/copies"}, "repository"),
        ({"repository": "ext::sh -c id://x"}, "repository"),
        ({"repository": "file:///etc"}, "repository"),
        ({"repository": "-u://x"}, "repository"),
        ({"workload": "/etc/workload.toml"}, "workload"),
        ({"workload": "a/../../b"}, "workload"),
        ({"good": "--upload-pack=id"}, "good"),
        ({"subject": "../up"}, "subject"),
    ],
)
def test_what_a_runner_must_not_be_told_is_refused(jobs: Jobs, changes: dict[str, Any], field: str) -> None:
    problem = jobs.order(422, question=changes)
    assert any(field in error["field"] for error in problem["errors"])


def test_an_order_asks_one_thing(jobs: Jobs) -> None:
    jobs.post("", 422)
    jobs.post("", 422, question=QUESTION, drift="0" * 16)
    assert "does not start jobs through local" in jobs.order(422, backend="local")["detail"]


def test_a_runner_gets_a_moment_to_be_heard_of_where_the_service_was_away(jobs: Jobs, late: JobScheduler) -> None:
    job = jobs.order()
    jobs.claim(job)
    replace(late, awake_since=late.now()).work()
    assert jobs.get(job)["state"] == "running"


def test_a_token_that_reports_carries_out_jobs_and_orders_none(config: Config) -> None:
    app = create_app(config.copy_with_values(access=Access.TOKENS))
    with app.app_context(), get_database().writing() as session:
        shown = {
            scope: tokens.issue_token(session, scope, [scope], 1, datetime.now(UTC)).text
            for scope in (Scope.REPORT, Scope.ORDER)
        }
    reports_only, orders_only = (
        Jobs(app.test_client(), {"Authorization": f"Bearer {shown[scope]}"}) for scope in (Scope.REPORT, Scope.ORDER)
    )
    reports_only.order(403)
    job = orders_only.order()
    orders_only.claim(job, 403)
    lease = reports_only.claim(job)
    reports_only.post(f"/{job['id']}/cancel", 403)
    reports_only.post(f"/{job['id']}/progress", lease=lease["lease"])
    reports_only.post(f"/{job['id']}/finish", lease=lease["lease"], outcome="done", sentence="found")
