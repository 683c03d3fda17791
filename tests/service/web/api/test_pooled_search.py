"""A search that several hosts share: each leads it by itself, and the service gives each another commit."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apiflask import APIFlask
from flask.testing import FlaskClient

from runner.contract import Canary, CanaryCount, Host
from runner.contract.job import Backend, Job, JobOrder, State, Where
from service.jobs.extension import scheduler
from service.store.jobs import Requester
from service.store.models import Job as JobRow
from tests.service import reports
from tests.service.apiclient import Api
from tests.service.jobs_api import Jobs

WRONG = Canary(counts=(CanaryCount(kinds=("anonymous",), expected=1009, counted=(1010, 1009, 1010)),))
POOL = ["lab-1", "lab-2", "lab-3"]
CULPRIT = 13


class Runner:
    """Leads a shared search on one host, a step at a time."""

    def __init__(
        self, client: FlaskClient, host: str, bad: int, pool: list[str] | None = None, **question: Any
    ) -> None:
        self.jobs, self.api, self.host, self.bad = Jobs(client), Api(client), host, bad
        self.least = question.get("least", 0)
        self.proves = question.get("prove", True)
        self.metric = question.get("metric", "minor-faults")
        asked = {"pool": pool or POOL, "host": host, "good": reports.commit(1), "bad": reports.commit(bad)} | question
        self.job = self.jobs.order(question=asked, backend="caller")
        self.lease = self.jobs.claim(self.job, host=host)["lease"]
        self.measured: list[int] = []

    def ask(self, status: int = 200, **changes: Any) -> dict[str, Any]:
        search = {
            "subject": "demo",
            "host": {"name": self.host},
            "environment": reports.GLIBC.model_dump(mode="json"),
            "case": reports.CASE.model_dump(mode="json"),
            "metric": self.metric,
            "least": self.least,
            "prove": self.proves,
            "good": reports.commit(1),
            "bad": reports.commit(self.bad),
        }
        return self.jobs.post(f"/{self.job['id']}/search", status, lease=self.lease, search=search | changes)

    def next(self, **changes: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.ask(**changes)["answer"]
        return answer

    def commit(self) -> int:
        """Return the commit to measure; 0 where the host has to wait."""
        answer = self.next()
        return int(answer["commits"][0], 16) if answer["kind"] == "measure" else 0

    def send(self, number: int, faults: int, **changes: Any) -> None:
        self.api.send(reports.report(number, faults, faults, host=Host(name=self.host), **changes))
        self.measured.append(number)

    def prove(self, answer: dict[str, Any], before: int, after: int) -> None:
        session = uuid.uuid4()
        for commit, level in ((answer["parent"], before), (answer["commit"], after)):
            samples = [level] * 30
            sent = reports.report(int(commit, 16), *samples, host=Host(name=self.host), session=session)
            self.api.send(sent)


def level(number: int, culprit: int = CULPRIT) -> int:
    return 7 + 100 * (number >= culprit)


@pytest.fixture
def hosts(app: APIFlask) -> Callable[..., list[Runner]]:
    def make(bad: int = 40, names: list[str] | None = None, **question: Any) -> list[Runner]:
        client = app.test_client()
        Api(client).put_revisions(*range(1, bad + 1))
        return [Runner(client, name, bad, **question) for name in names or POOL]

    return make


@pytest.mark.parametrize("culprit", [2, 500, 700, 1001])
def test_three_hosts_search_a_thousand_commits_in_six_rounds_and_measure_none_twice(
    culprit: int, hosts: Callable[..., list[Runner]]
) -> None:
    pool, rounds = hosts(1001, prove=False), 0
    while any(commits := [host.commit() for host in pool]):
        assert len(set(filter(None, commits))) == sum(map(bool, commits))
        for host, number in zip(pool, commits, strict=True):
            if number:
                host.send(number, level(number, culprit))
        rounds += 1
    assert rounds <= 6, "the ends and the middle, then 499 commits in parts of a quarter: 5 rounds"
    measured = [number for host in pool for number in host.measured]
    assert len(measured) == len(set(measured))
    answers = [host.next() for host in pool]
    assert answers[0] == answers[1] == answers[2]
    assert [found["commit"] for found in answers[0]["culprits"]] == [reports.commit(culprit)]


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_one_host_proves_while_the_others_wait(hosts: Callable[..., list[Runner]]) -> None:
    first, second, third = hosts()
    for number in (1, CULPRIT - 1, CULPRIT, 40):
        second.send(number, level(number))
    proof = first.next()
    assert (proof["kind"], proof["commit"]) == ("prove", reports.commit(CULPRIT))
    waiting = second.next()
    assert (waiting["kind"], waiting["hosts"], waiting["commits"]) == ("wait", ["lab-1"], [reports.commit(CULPRIT)])
    assert third.next()["kind"] == "wait"
    first.prove(proof, 7, 107)
    found = [host.next() for host in (first, second, third)]
    assert [answer["culprits"][0]["proof"]["state"] for answer in found] == ["stands"] * 3
    assert first.ask()["asked"]["pool"] == POOL


def expire(app: APIFlask, runner: Runner) -> None:
    """Let the lease of a runner run out, as if it had been killed."""
    with scheduler(app).database.writing() as session:
        row = session.get_one(JobRow, runner.job["id"])
        row.leased_until = datetime.now(UTC) - timedelta(seconds=1)


def test_what_a_killed_host_measured_goes_to_another_one(app: APIFlask, hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    taken = [first.commit(), second.commit()]
    assert taken == [1, 40]
    expire(app, first)
    second.send(40, level(40))
    assert second.commit() == 1
    second.send(1, level(1))
    while number := second.commit():
        second.send(number, level(number))
    assert second.next()["kind"] == "prove"


def test_a_host_that_measures_for_hours_blocks_nobody(app: APIFlask, hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    assert first.commit() == 1
    with scheduler(app).database.writing() as session:
        row = session.get_one(JobRow, first.job["id"])
        row.measuring_since = datetime.now(UTC) - timedelta(hours=2)
        row.leased_until = datetime.now(UTC) + timedelta(hours=1)
    assert second.commit() == 1


def test_a_host_that_stops_leaves_its_commit_to_the_others(hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    assert first.commit() == 1
    end = {"lease": first.lease, "outcome": "failed", "sentence": "the canary counts wrong"}
    first.jobs.post(f"/{first.job['id']}/finish", **end)
    assert second.commit() == 1
    assert "is failed" in first.ask(status=409)["detail"]


def test_runs_in_quarantine_are_measured_again(hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    assert [first.commit(), second.commit()] == [1, 40]
    first.send(1, level(1), canary=WRONG)
    second.send(40, level(40))
    first.commit()
    assert second.commit() != 1, "the first host measures it again"


def test_hosts_in_different_environments_do_not_share_a_search(hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    assert first.commit() == 1
    first.send(1, level(1))
    assert first.commit() == 40
    refused = second.next(environment=reports.JEMALLOC.model_dump(mode="json"))
    assert refused["kind"] == "refused"
    assert "lab-1 measures in another environment than lab-2 (allocator)" in refused["sentence"]
    first.send(40, level(40))
    assert first.commit(), "the host that was there first goes on"


def test_hosts_that_count_differently_do_not_share_a_search(hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    first.send(1, 7)
    second.send(1, 9)
    assert "not identical" in first.next()["sentence"]


def test_a_noisy_metric_is_searched_by_one_host(hosts: Callable[..., list[Runner]]) -> None:
    first, _, _ = hosts(metric="elapsed")
    assert "only if the metric repeats" in first.next()["sentence"]


def test_a_job_asks_only_for_its_own_search(app: APIFlask, hosts: Callable[..., list[Runner]]) -> None:
    first, second, _ = hosts()
    assert "does not hold" in first.jobs.post(f"/{second.job['id']}/search", 409, **_asked(first))["detail"]
    assert "runs on lab-1" in first.ask(status=409, host={"name": "lab-2"})["detail"]
    assert "another question" in first.ask(status=409, metric="major-faults")["detail"]
    assert "Send them first" in first.ask(status=422, bad="f" * 40)["detail"]
    first.jobs.order(422, question={"pool": POOL, "host": "elsewhere"})
    first.jobs.order(422, question={"pool": ["a", "a"]})


def _asked(runner: Runner) -> dict[str, Any]:
    search = {
        "subject": "demo",
        "host": {"name": runner.host},
        "environment": reports.GLIBC.model_dump(mode="json"),
        "case": reports.CASE.model_dump(mode="json"),
        "metric": "minor-faults",
        "good": reports.commit(1),
        "bad": reports.commit(40),
    }
    return {"lease": runner.lease, "search": search}


class Remote:
    """Starts jobs of two hosts, and records what it posts."""

    def __init__(self) -> None:
        self.posted: list[tuple[int, State]] = []

    def objection(self, order: JobOrder) -> str:
        return "" if order.question and order.question.host in POOL[:2] else "another machine"

    def has_room(self) -> bool:
        return True

    def holds(self, job_id: int) -> bool:
        return False

    def start(self, job: Job) -> str:
        return ""

    def post_result(self, job: Job, attempts: int) -> None:
        self.posted.append((job.id, job.state))


@pytest.mark.parametrize("failed", [[], [0], [0, 1, 2]])
def test_an_order_for_a_pool_is_a_job_for_each_host_with_one_posted_result(failed: list[int], app: APIFlask) -> None:
    jobs, remote = Jobs(app.test_client()), Remote()
    scheduler(app).starters, scheduler(app).result_poster = {Backend.LOCAL: remote}, remote
    question = {
        **{"kind": "bisect", "subject": "demo", "case": reports.CASE.name, "pool": POOL},
        **{"good": reports.commit(1), "bad": reports.commit(9)},
    }
    order = JobOrder.model_validate({"question": question})
    first, new = scheduler(app).order(order, Requester("ann", Where.COMMENT, "octo-org/demo#7"))
    assert new
    assert scheduler(app).order(order, Requester("ann", Where.COMMENT, "octo-org/demo#7")) == (first, False)
    made = app.test_client().get("/api/v1/jobs").json["items"][::-1]  # type: ignore[index]
    assert [job["question"]["host"] for job in made] == POOL
    assert [job["backend"] for job in made] == ["local", "local", "caller"]
    for place, job in enumerate(made):
        lease = jobs.claim(job, host=POOL[place])["lease"]
        outcome = "failed" if place in failed else "done"
        jobs.post(f"/{job['id']}/finish", lease=lease, outcome=outcome, sentence="c13")
        scheduler(app).work()
    state = State.FAILED if len(failed) == 3 else State.DONE
    poster = made[2] if len(failed) == 3 else made[len(failed)]
    assert remote.posted == [(poster["id"], state)]
