"""A job that is not this host's turn yet waits without keeping others from measuring."""

import json
from pathlib import Path

import pytest

from runner.errors import AlreadyEnded
from runner.host.lock import HostTurn, find_holder
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
