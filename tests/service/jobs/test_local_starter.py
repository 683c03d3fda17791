"""Jobs that the service starts as processes of their own."""

import sys
import threading
import time
from pathlib import Path

import pytest

from runner.contract.job import Job, ProfileQuestion
from service.jobs.local_starter import LocalStarter
from service.store.engine.database import Database

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
    ends: list[tuple[int, str]] = []
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(tmp_path, database, by_token=False, ended=lambda *end: ends.append(end))
    starter.url = "http://127.0.0.1:1"

    starter._carry_out(7)

    seen = starter.log(7).read_text()
    assert "secret" not in seen
    assert "FAULTWATCH_CPUS=1" in seen
    assert "FAULTWATCH_HOST_LOCK=/run/faultwatch.lock" in seen, "otherwise a job measures beside other commands"
    assert "FAULTWATCH_URL=http://127.0.0.1:1" in seen
    assert ends == [(7, "Its process has ended with status 0.")]


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
    starter = LocalStarter(tmp_path / "home", database, by_token=by_token, ended=lambda *_: None)
    monkeypatch.setattr(starter.__class__, "_token", lambda *_: {})
    starter._carry_out(7)
    seen = starter.log(7).read_text().splitlines()
    assert seen == [f"words: -P -m faultwatch job run {'--sandbox ' if by_token else ''}7", str(tmp_path / "home")]


def test_a_job_is_held_in_the_queue_and_while_its_process_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that waits for its host has claimed nothing yet, and outlives the service."""
    waits = tmp_path / "waits"
    waits.write_text(f"#!/bin/sh\necho begun\nwhile ! test -e {tmp_path}/free; do sleep 0.02; done\n")
    waits.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(waits))
    home = tmp_path / "home"
    database = Database(f"sqlite:///{tmp_path}/faultwatch.db")
    starter = LocalStarter(home, database, by_token=False, ended=lambda *_: None)
    assert not starter.holds(7)
    starter._task(7)
    assert starter.holds(7)
    starter._huey.flush()
    assert not starter.holds(7)

    thread = threading.Thread(target=starter._carry_out, args=(7,))
    thread.start()
    while not (starter.log(7).exists() and starter.log(7).read_text()):
        time.sleep(0.01)
    after_restart = LocalStarter(home, database, by_token=False, ended=lambda *_: None)
    assert starter.holds(7)
    assert after_restart.holds(7)
    (tmp_path / "free").touch()
    thread.join()
    assert not after_restart.holds(7)


def test_a_job_that_takes_the_machine_is_said_where_the_service_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    question = ProfileQuestion(subject="copies", case="copy[mib=8]", revision="HEAD")
    job = Job.model_construct(id=7, question=question, asked_by="service")
    starter = LocalStarter(tmp_path, Database("sqlite://"), by_token=False, ended=lambda *_: None)
    starter.start(job)
    (line,) = capsys.readouterr().out.splitlines()
    assert line == (
        "Job 7 measures on this machine next: a profile of copy[mib=8], which the service ordered by itself; "
        "`faultwatch job pause 7` lets others go first."
    )
