"""A bisect and a profile that somebody asks for in a comment: ordered, started, lost, found again, answered there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from runner.contract.commit_search import Culprit, Found, Search
from runner.contract.job import Claim, Finish, Job, Outcome, State
from runner.contract.report import Environment
from service.forges.comment_commands import Command, Verb
from service.forges.job_order import build_question
from service.pipeline import lease_jobs
from service.store import jobs
from tests.service.forges import made_gates
from tests.service.forges.github import stand_in
from tests.service.forges.github.stand_in import repository

RUN = "https://github.example/octo-org/copies/actions/runs/5"


@pytest.fixture
def worker(service: Any) -> Any:
    """The service, which has measured the pull request."""
    service.report(made_gates.gate(made_gates.case([100] * 30, [101] * 30)))
    service.work()
    return service.worker.jobs


def only(worker: Any) -> Job:
    with worker.database.reading() as session:
        (job,) = jobs.list_page(session, jobs.JobFilter(), 10).items
    return job


def replies(hub: stand_in.GitHub) -> list[str]:
    return [comment["body"] for comment in hub.comments.values() if "<!-- faultwatch job " in comment["body"]]


def ran(
    service: Any,
    job_id: int,
    conclusion: str | None,
    url: str = RUN,
    owner: str = "octo-org/copies",
    created_at: datetime | None = None,
    workflow: str = "bisect",
) -> None:
    run = {
        "event": "workflow_dispatch",
        "display_title": f"{workflow} {job_id}",
        "html_url": url,
        "conclusion": conclusion,
        "created_at": (created_at or service.worker.jobs.now()).isoformat(),
        "head_repository": repository(),
        "head_sha": made_gates.HEAD,
    }
    told = {"action": "completed", "workflow_run": run, "repository": repository() | {"full_name": owner}}
    assert service.deliver("workflow_run", told) == 202
    service.work()


def claim(worker: Any, job: Job) -> str:
    with worker.database.writing() as session:
        row = jobs.find_job(session, job.id)
        assert row is not None
        lease: str = lease_jobs.claim_job(session, row, Claim(host="box", log_url=RUN), worker.lease_time, worker.now())
        return lease


def test_a_bisect_is_ordered_with_what_was_measured_and_answered_once(
    worker: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    job = only(worker)
    question = job.question.model_dump()
    assert (question["good"], question["bad"], question["metric"]) == (made_gates.BASE, made_gates.HEAD, "minor-faults")
    assert (job.asked_by, job.thread, job.github) == ("ada", "octo-org/copies#7", "octo-org/copies")
    worker.work()
    (name, inputs) = hub.dispatches[-1]
    assert (name, inputs["job"], inputs["revision"]) == ("bisect.yml", str(job.id), made_gates.HEAD)
    lease = claim(worker, job)
    culprit = Culprit(
        commit=made_gates.HEAD, parent=made_gates.BASE, before=100, after=101, candidates=(made_gates.HEAD,)
    )
    result = Search(commits=1, stored_runs=2, answer=Found(culprits=(culprit,))).model_dump(mode="json")
    with worker.database.writing() as session:
        row = jobs.find_job(session, job.id)
        assert row is not None
        lease_jobs.finish_job(
            session, row, Finish(lease=lease, outcome=Outcome.DONE, sentence="found", result=result), worker.now()
        )
    for _ in range(2):
        worker.work()
    (reply,) = replies(hub)
    assert f"{made_gates.HEAD} may move <code>minor-faults</code> from 100\xa0faults to 101\xa0faults." in reply
    ran(service, job.id, "success")
    assert only(worker).state is State.DONE


def test_a_workflow_of_the_project_with_the_number_of_a_job_does_not_end_it(
    worker: Any, service: Any, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    worker.work()
    ran(service, only(worker).id, "success", workflow="release")
    assert only(worker).state is State.DISPATCHED
    ran(service, only(worker).id, "success")
    assert only(worker).state is State.LOST


def test_the_pauses_between_starts_that_github_refuses_grow(
    worker: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    pauses = []
    for _ in range(4):
        hub.fail("POST", "/dispatches$", 403, "Resource not accessible by integration")
        worker.work()
        with worker.database.reading() as session:
            row = jobs.find_job(session, only(worker).id)
            assert row is not None
            assert row.due_at is not None
            pauses.append((row.due_at - datetime.now(UTC)).total_seconds())
        service.clock[0] = max(service.clock[0], row.due_at)
    assert pauses == pytest.approx([5, 10, 20, 40], abs=2)


def test_a_workflow_that_ends_before_its_job_is_ordered_again(
    worker: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    worker.work()
    job = only(worker)
    claim(worker, job)
    ran(service, job.id, "failure", owner="mallory/copies")
    ran(service, job.id, "failure", url=f"{RUN}0")
    assert only(worker).state is State.RUNNING, "neither speaks for this run of it"
    ran(service, job.id, "failure")
    assert only(worker).state is State.LOST
    worker.work()
    assert [name for name, _ in hub.dispatches] == ["bisect.yml"] * 2
    ran(service, job.id, "failure", created_at=worker.now() - timedelta(hours=1))
    assert only(worker).state is State.DISPATCHED, "it is the first workflow, about which another word arrives late"
    ran(service, job.id, "cancelled")
    assert only(worker).state is State.CANCELLED


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("/faultwatch bisect copy_service[mib=5]", "Cases: <code>copy"),
        ("/faultwatch profile copy_service[mib=4]", "The result will be posted here."),
    ],
)
def test_what_is_asked_of_a_case_is_answered(
    text: str, reply: str, worker: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said(text))
    service.work()
    assert any(reply in comment["body"] for comment in hub.comments.values())


@pytest.mark.parametrize("verb", [Verb.BISECT, Verb.PROFILE])
def test_a_report_makes_a_job_load_nothing(verb: Verb) -> None:
    """Who may report may choose the environment in a report, but not a library or a start-up file of the job."""
    case = made_gates.case([100] * 30, [101] * 30)
    variables = {"LD_PRELOAD": "/tmp/mine.so", "BASH_ENV": "/tmp/mine.sh", "MALLOC_ARENA_MAX": "1"}
    settings = case.head.environment.settings | {f"variable.{name}": value for name, value in variables.items()}
    head = case.head.model_copy(update={"environment": Environment(settings=settings)})
    report = made_gates.gate(case.model_copy(update={"head": head}))
    question = build_question(Command(verb, head.case.name), report)
    assert not isinstance(question, str)
    assert question.variables == {"MALLOC_ARENA_MAX": "1"}


def test_a_case_whose_workload_file_no_job_may_name_is_answered(service: Any, hub: stand_in.GitHub, said: Any) -> None:
    service.report(made_gates.gate(made_gates.case([100] * 30, [101] * 30, file="bench/größe/workload.toml")))
    service.work()
    service.deliver("issue_comment", said("/faultwatch bisect copy_service[mib=4]"))
    service.work()
    reply = next(comment["body"] for comment in hub.comments.values() if "<!-- faultwatch reply" in comment["body"])
    assert "No job can be ordered for this: its field <code>workload</code> is too long" in reply
    with service.worker.jobs.database.reading() as session:
        assert not jobs.list_page(session, jobs.JobFilter(), 10).items


def test_a_repository_without_the_workflow_is_told_so(
    worker: Any, service: Any, hub: stand_in.GitHub, said: Any
) -> None:
    service.deliver("issue_comment", said("/faultwatch profile copy_service[mib=4]"))
    service.work()
    for _ in range(2):
        worker.work()
    assert only(worker).state is State.FAILED
    (reply,) = replies(hub)
    assert "no workflow" in reply
