"""Jobs that the service starts as processes of their own."""

import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from runner.contract.job import Backend, Job, JobOrder, ProfileQuestion, State, Where
from service.jobs.local_starter import LocalStarter
from service.jobs.scheduler import JobScheduler
from service.rules.jobs.job_states import Action
from service.store import jobs
from service.store.engine.database import Database
from service.store.jobs import Requester

QUESTION = ProfileQuestion(subject="copies", case="copy[mib=8]", revision="HEAD")
REQUESTER = Requester("mara", Where.API)
ENV = """#!/bin/sh
env
"""


def test_a_runner_never_sees_the_services_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shows_variables = tmp_path / "env"
    shows_variables.write_text(ENV)
    shows_variables.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(shows_variables))
    monkeypatch.setenv("DATABASE_URL", "postgresql://me:secret@db/faults")
    monkeypatch.setenv("SMTP_PASSWORD", "secret")
    monkeypatch.setenv("FAULTWATCH_GITHUB_KEY_FILE", "/run/secret.pem")
    monkeypatch.setenv("FAULTWATCH_CPUS", "1")
    monkeypatch.setenv("FAULTWATCH_HOST_LOCK", "/run/faultwatch.lock")
    ends: list[tuple[int, int, str]] = []
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(tmp_path, database, by_token=False, on_ended=lambda *end: ends.append(end))
    starter.url = "http://127.0.0.1:1"

    starter._run_and_release_process(7, 1)

    seen = starter.find_log_file(7).read_text()
    assert "secret" not in seen
    assert "FAULTWATCH_CPUS=1" in seen
    assert "FAULTWATCH_HOST_LOCK=/run/faultwatch.lock" in seen, "otherwise a job measures beside other commands"
    assert "FAULTWATCH_URL=http://127.0.0.1:1" in seen
    assert ends == [(7, 1, "The job's process ended with status 0.")]


@pytest.mark.parametrize("by_token", [True, False])
def test_a_job_that_others_can_order_is_confined(
    by_token: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shows_words = tmp_path / "words"
    shows_words.write_text('#!/bin/sh\necho "words: $*"; pwd\n')
    shows_words.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(shows_words))
    monkeypatch.setenv("PYTHONPATH", ".")
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(tmp_path / "home", database, by_token=by_token, on_ended=lambda *_: None)
    monkeypatch.setattr(starter.__class__, "_issue_token_variable", lambda *_: {})
    starter._run_and_release_process(7, 1)
    seen = starter.find_log_file(7).read_text().splitlines()
    assert seen == [f"words: -P -m faultwatch job run {'--sandbox ' if by_token else ''}7", str(tmp_path / "home")]


def program(path: Path, script: str) -> str:
    """Write a program that takes the place of the runner's; return its path."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def wait_until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_process_that_waits_for_its_host_is_held_even_by_the_next_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that waits for its host has claimed nothing yet, and outlives the service."""
    waits = f"echo begun\nwhile ! test -e {tmp_path}/free; do sleep 0.02; done"
    monkeypatch.setattr(sys, "executable", program(tmp_path / "waits", waits))
    home = tmp_path / "home"
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(home, database, by_token=False, on_ended=lambda *_: None)
    assert not starter.is_waiting(7)

    thread = threading.Thread(target=starter._run_and_release_process, args=(7, 1))
    thread.start()
    wait_until(lambda: starter.find_log_file(7).exists() and starter.find_log_file(7).read_text())
    after_restart = LocalStarter(home, database, by_token=False, on_ended=lambda *_: None)
    assert starter.is_waiting(7)
    assert after_restart.is_waiting(7)
    (tmp_path / "free").touch()
    thread.join()
    assert not after_restart.is_waiting(7)


def states(database: Database) -> list[State]:
    with database.reading() as session:
        return [row.state for row in jobs.list_open_jobs(session)]


def test_one_job_runs_at_a_time_once_the_service_listens(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = f"while ! test -e {tmp_path}/free-$6; do sleep 0.02; done"
    monkeypatch.setattr(sys, "executable", program(tmp_path / "waits", waits))
    scheduler = JobScheduler(database)
    starter = LocalStarter(tmp_path, database, by_token=False, on_ended=scheduler.record_ended_process)
    scheduler.starters[Backend.LOCAL] = starter
    first, second = (
        scheduler.order(JobOrder(question=QUESTION.model_copy(update={"revision": revision})), REQUESTER)[0].id
        for revision in ("a" * 40, "b" * 40)
    )
    scheduler.work()
    assert states(database) == [State.QUEUED, State.QUEUED], "no runner could reach the service"
    starter.url = "http://127.0.0.1:1"
    scheduler.work()
    assert states(database) == [State.DISPATCHED, State.QUEUED]

    with database.writing() as session:
        row = jobs.find_job(session, first)
        assert row is not None
        jobs.move_job_to_next_state(row, Action.CANCEL, "mara", "", datetime.now(UTC))
    scheduler.work()
    assert states(database) == [State.QUEUED], "its process has not ended"
    (tmp_path / f"free-{first}").touch()
    wait_until(starter.has_room)
    scheduler.work()
    assert states(database) == [State.DISPATCHED]
    (tmp_path / f"free-{second}").touch()
    wait_until(lambda: states(database) == [State.LOST])


def test_a_job_whose_process_cannot_be_started_leaves_room_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(tmp_path, database, by_token=False, on_ended=lambda *_: pytest.fail("it had no process"))
    starter.url = "http://127.0.0.1:1"
    starter.start(Job.model_construct(id=7, attempts=1, question=QUESTION, asked_by="mara"))
    wait_until(starter.has_room)
    assert not starter.is_waiting(7)


def test_a_job_that_takes_the_machine_is_said_where_the_service_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LocalStarter, "_run_and_release_process", lambda *_: None)
    job = Job.model_construct(id=7, attempts=1, question=QUESTION, asked_by="service")
    starter = LocalStarter(tmp_path, Database("sqlite://"), by_token=False, on_ended=lambda *_: None)
    starter.start(job)
    (line,) = capsys.readouterr().out.splitlines()
    assert line == (
        "Job 7 runs next on this machine: a profile of copy[mib=8], which the service ordered. "
        "`faultwatch job pause 7` frees the host."
    )
