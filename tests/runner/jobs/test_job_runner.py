"""A job that is not this host's turn yet waits without keeping others from measuring."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import pytest

from runner.contract.job import Backend, Job, Lease, MeasureQuestion, State, Where
from runner.errors import AlreadyEnded, FaultwatchError
from runner.host.host_lock import find_holder
from runner.host.host_turn import HostTurn
from runner.jobs.job_runner import JobRunner
from runner.reporting.client import Service
from runner.settings import Settings
from tests.runner.http_stub import Answer, http_stub


def test_a_job_that_the_service_does_not_give_yet_leaves_the_host_to_others(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    said: list[tuple[str, object]] = []

    def say(line: str) -> None:
        said.append((line, find_holder(lock)))
        if find_holder(lock) is None:  # another command measures meanwhile
            another.begin()
            another.end()

    with http_stub() as stub, HostTurn(lock, say) as turn, HostTurn(lock, say) as another:
        busy = Answer(409, json.dumps({"detail": "Job 7 is waiting: box runs job 6."}), {"Retry-After": "0"})
        stub.next = [busy, busy, Answer(410, json.dumps({"detail": "Job 7 was cancelled."}))]
        runner = JobRunner(Settings(tmp_path, None, "box"), Service(stub.url), turn, say)
        with pytest.raises(AlreadyEnded, match="Job 7 was cancelled"):
            runner.run(7, lambda *_: pytest.fail("the job must not begin"))
        assert stub.requests == 3
    ((line, found),) = said
    assert line == "Job 7 is waiting: box runs job 6."
    assert found is None, "nobody waits for who waits"


@pytest.mark.parametrize("failure", [FaultwatchError("the build failed"), ZeroDivisionError("division by zero")])
@pytest.mark.parametrize("status", [409, 422])
def test_a_failure_is_raised_even_if_the_service_refuses_its_report(
    status: int, failure: Exception, tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    said: list[str] = []
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    job = Job(
        **dict.fromkeys(Job.model_fields, None)
        | {
            "id": 7,
            "question": MeasureQuestion(subject="demo", case="copy", revision="main"),
            "state": State.RUNNING,
            "backend": Backend.CALLER,
            "asked_by": "ada",
            "asked_in": Where.API,
            "thread": "",
            "created_at": moment,
            "changed_at": moment,
            "attempts": 1,
            "runs": (),
            "steps": (),
            "log_url": "",
            "sentence": "",
        }
    )

    def fail(*_: object) -> NoReturn:
        raise failure

    with http_stub() as stub, HostTurn(lock, said.append) as turn:
        lease = Lease(job=job, lease="secret", heartbeat_seconds=60)
        stub.next = [
            Answer(200, lease.model_dump_json()),
            Answer(status, json.dumps({"detail": "Another runner has job 7."})),
        ]
        runner = JobRunner(Settings(tmp_path, None, "box"), Service(stub.url), turn, said.append)
        with pytest.raises(type(failure), match=str(failure)):
            runner.run(7, fail, fail)
        assert stub.paths[-1].endswith("/jobs/7/finish")
    assert "the failure of job 7 could not be reported" in said[-1]
    assert said[-1].endswith("the service will count the job as lost")
    assert "Another runner has job 7." in said[-1]
