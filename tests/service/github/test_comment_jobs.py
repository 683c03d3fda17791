"""A bisect and a profile that somebody asks for in a comment: ordered, started, lost, found again, answered there."""

from __future__ import annotations

from typing import Any

import made_gates as made
import pytest
import stand_in
from stand_in import repository

from runner.contract.job import Claim, Finish, Job, Outcome, State
from runner.contract.search import Culprit, Found, Search
from service.store import jobs, leases

RUN = "https://github.example/octo-org/copies/actions/runs/5"


@pytest.fixture
def desk(service: Any) -> Any:
    """The service, which has measured the pull request."""
    service.report(made.gate(made.case([100] * 5, [101] * 5)))
    service.work()
    return service.desk.jobs


def only(desk: Any) -> Job:
    with desk.database.reading() as session:
        (job,) = jobs.page(session, jobs.JobFilter(), 10).items
    return job


def replies(hub: stand_in.GitHub) -> list[str]:
    return [comment["body"] for comment in hub.comments.values() if "<!-- faultwatch job " in comment["body"]]


def ran(service: Any, job_id: int, conclusion: str | None, url: str = RUN, owner: str = "octo-org/copies") -> None:
    run = {
        "event": "workflow_dispatch",
        "display_title": f"bisect {job_id}",
        "html_url": url,
        "conclusion": conclusion,
        "head_repository": repository(),
        "head_sha": made.HEAD,
    }
    told = {"action": "completed", "workflow_run": run, "repository": repository() | {"full_name": owner}}
    assert service.deliver("workflow_run", told) == 202
    service.work()


def claim(desk: Any, job: Job) -> str:
    with desk.database.writing() as session:
        row = jobs.find(session, job.id)
        assert row is not None
        lease: str = leases.claim(session, row, Claim(host="box", log_url=RUN), desk.lease, desk.now())
        return lease


def test_a_bisect_is_ordered_with_what_was_measured_and_answered_once(
    desk: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    job = only(desk)
    question = job.question.model_dump()
    assert (question["good"], question["bad"], question["metric"]) == (made.BASE, made.HEAD, "minor-faults")
    assert (job.asked_by, job.thread, job.github) == ("ada", "octo-org/copies#7", "octo-org/copies")
    desk.work()
    (name, inputs) = hub.dispatches[-1]
    assert (name, inputs["job"], inputs["revision"]) == ("bisect.yml", str(job.id), made.HEAD)
    lease = claim(desk, job)
    culprit = Culprit(commit=made.HEAD, parent=made.BASE, before=100, after=101, candidates=(made.HEAD,))
    result = Search(commits=1, known=2, answer=Found(culprits=(culprit,))).model_dump(mode="json")
    with desk.database.writing() as session:
        row = jobs.find(session, job.id)
        assert row is not None
        leases.finish(row, Finish(lease=lease, outcome=Outcome.DONE, sentence="found", result=result), desk.now())
    for _ in range(2):
        desk.work()
    (reply,) = replies(hub)
    assert f"{made.HEAD} moves <code>minor-faults</code> from 100 to 101 faults." in reply
    ran(service, job.id, "success")
    assert only(desk).state is State.DONE


def test_a_workflow_that_ends_before_its_job_is_ordered_again(
    desk: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    desk.work()
    job = only(desk)
    claim(desk, job)
    ran(service, job.id, "failure", owner="mallory/copies")
    ran(service, job.id, "failure", url=f"{RUN}0")
    assert only(desk).state is State.RUNNING, "neither speaks for this run of it"
    ran(service, job.id, "failure")
    assert only(desk).state is State.LOST
    desk.work()
    assert [name for name, _ in hub.dispatches] == ["bisect.yml"] * 2
    ran(service, job.id, "cancelled")
    assert only(desk).state is State.CANCELLED


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("/faultwatch bisect copy_service[mib=5]", "There are: <code>copy"),
        ("/faultwatch profile copy_service[mib=4]", "You are told here what comes of it."),
    ],
)
def test_what_is_asked_of_a_case_is_answered(
    text: str, reply: str, desk: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said(text))
    service.work()
    assert any(reply in comment["body"] for comment in hub.comments.values())


def test_a_repository_without_the_workflow_is_told_so(desk: Any, service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.deliver("issue_comment", said("/faultwatch profile copy_service[mib=4]"))
    service.work()
    for _ in range(2):
        desk.work()
    assert only(desk).state is State.FAILED
    (reply,) = replies(hub)
    assert "no workflow" in reply
