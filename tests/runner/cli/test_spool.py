"""A history whose service goes away, and secrets on their way: what is kept, what is said, what is nowhere."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
from click.testing import CliRunner

from runner.cli import history
from runner.cli import spool as spool_command
from runner.contract.nomination import NominationList
from runner.contract.plan import Plan, PlannedRun, PlanRequest
from runner.contract.report import Ref, Report, Revision
from runner.errors import FaultwatchError, RequestRefused
from runner.reporting import embedded_service
from runner.settings import load_settings
from tests.runner.commands import compiled_programs, served

ROOT = Path(__file__).parents[3]
Commit = Callable[..., str]
SECRET = "tell-nobody-3141"

WORKLOAD = """
[workload]
name = "script"
timeout = 20
samples = 1
[run]
command = ["true"]
"""


class Fading:
    """A service that is there at the start and takes one report."""

    def __init__(self) -> None:
        self.stored: list[Report] = []
        self.away = False
        self.refuses = False

    def send_revisions(
        self, subject: str, revisions: Sequence[Revision], refs: Sequence[Ref] = (), **_: object
    ) -> None:
        self.subject = subject

    def request_plan(self, request: PlanRequest) -> Plan:
        planned = [PlannedRun(revision=commit, case=case) for commit in request.revisions for case in request.cases]
        return Plan(runs=tuple(planned), stored=0)

    def send(self, one: Report) -> None:
        if self.refuses:
            raise RequestRefused("samples.0: wrong")
        if self.away:
            raise FaultwatchError("the service does not answer")
        self.stored.append(one)
        self.away = True

    def list_series(self, **_: str) -> list[dict[str, Any]]:
        return []

    def connect_with_retries(self, *_: object) -> "Fading":
        return self

    def list_nominations(self, **_: str) -> NominationList:
        return NominationList(items=())

    def list_drifts(self, **_: str) -> list[dict[str, Any]]:
        if self.away:
            raise FaultwatchError("the service does not answer")
        return []


@pytest.fixture
def fading(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Fading]:
    service = Fading()

    @contextmanager
    def connect(_: object) -> Iterator[Fading]:
        yield service

    monkeypatch.setattr(embedded_service, "connect_to_service", connect)
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path / "home"))
    with compiled_programs(tmp_path / "home"):
        yield service


@pytest.fixture
def asked(commit: Commit, tmp_path: Path) -> list[str]:
    for number in range(3):
        commit(f"Commit {number}", file=str(number))
    folder = tmp_path / "workload"
    folder.mkdir()
    (folder / "workload.toml").write_text(WORKLOAD)
    return ["--repo", str(tmp_path / "subject"), str(folder), "--json"]


@pytest.mark.perf
def test_a_history_goes_on_without_its_service_and_says_what_waits(fading: Fading, asked: list[str]) -> None:
    done = CliRunner().invoke(history.command, asked)
    document = json.loads(done.stdout)
    assert (document["measured"], document["waiting"], done.exit_code) == (3, 2, 1)
    shown = json.loads(CliRunner().invoke(spool_command.command, ["--json"]).stdout)
    assert len(shown["waiting"]) == 2
    assert {entry["subject"] for entry in shown["waiting"]} == {"subject"}

    stays = CliRunner().invoke(spool_command.command, ["--flush"])
    assert stays.exit_code == 1
    assert "does not answer" in stays.stdout

    fading.refuses = True
    CliRunner().invoke(spool_command.command, ["--flush"])
    refused = CliRunner().invoke(spool_command.command)
    assert ": 0 waiting, 2 refused" in " ".join(refused.stdout.split()), "a long path makes the line wrap"
    assert "samples.0: wrong" in refused.stdout


@pytest.mark.perf
def test_the_next_command_sends_what_waited(fading: Fading, asked: list[str]) -> None:
    history_run = CliRunner().invoke(history.command, asked)
    assert len(fading.stored) == 1, history_run.output
    fading.away = False
    fading.send = fading.stored.append  # type: ignore[assignment, method-assign]
    done = CliRunner().invoke(spool_command.command, ["--flush"])
    assert done.exit_code == 0, done.output
    assert len({one.run_id for one in fading.stored}) == len(fading.stored) == 3
    assert not list(load_settings().spool.iterdir())


@pytest.mark.perf
def test_a_history_says_on_a_terminal_what_waits(fading: Fading, asked: list[str]) -> None:
    done = CliRunner().invoke(history.command, asked[:-1])
    assert "2 reports are waiting on disk: the service does not answer." in done.stdout
    assert "`faultwatch spool --flush`" in " ".join(done.stdout.split())


@pytest.mark.perf
def test_secrets_are_in_no_report_no_spool_no_database_and_no_log(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("FAULTWATCH_HOME", str(home))
    secrets = (
        "--env",
        f"DEPLOY_TOKEN={SECRET}",
        "--env",
        f"MIRROR=https://me:{SECRET}@host.invalid/x?api_key={SECRET}",
    )
    command = [sys.executable, "-m", "runner", "history", *asked, *secrets]

    def run(url: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.setenv("FAULTWATCH_URL", url)
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)

    with compiled_programs(home):
        away = run(f"http://me:{SECRET}@127.0.0.1:1")
    assert "http://(hidden)@127.0.0.1:1 does not answer" in away.stderr
    with served(home) as proxy, compiled_programs(home):
        measured = run(proxy.service.replace("//", f"//me:{SECRET}@"))
        assert json.loads(measured.stdout)["measured"] == 3, measured.stderr
        listed = requests.get(f"{proxy.service}/api/v1/runs", timeout=10).json()["items"]
        reports = [requests.get(f"{proxy.service}/api/v1/runs/{run['run_id']}", timeout=10).text for run in listed]
    assert json.loads(reports[0])["environment"]["settings"]["variable.DEPLOY_TOKEN"] == "(hidden)"
    told = [away.stdout, away.stderr, measured.stdout, measured.stderr, *reports]
    files = [tmp_path / "service.log", *(file for file in home.rglob("*") if file.is_file())]
    kept = [file.read_bytes().decode(errors="replace") for file in files]
    assert len(kept) > 1
    assert not [text for text in told + kept if SECRET in text]


@pytest.mark.perf
def test_a_program_that_fails_and_prints_its_variables_tells_no_secret(asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "workload" / "workload.toml").write_text(WORKLOAD.replace('["true"]', '["sh", "-c", "env; exit 3"]'))
    done = subprocess.run(
        [
            *(sys.executable, "-m", "runner", "measure", asked[2], "--repo", asked[1]),
            *("--json", "--env", f"DEPLOY_TOKEN={SECRET}"),
        ],
        cwd=ROOT,
        env=os.environ | {"FAULTWATCH_HOME": str(tmp_path / "home")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    log = json.loads(done.stdout)[0]["failure"]["log"]
    assert "DEPLOY_TOKEN=(hidden)" in log
    assert SECRET not in done.stdout + done.stderr


def test_a_repository_address_keeps_its_token_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    for address in (f"http://me:{SECRET}@127.0.0.1:1/x.git", f"http://{SECRET}@127.0.0.1:1"):
        done = CliRunner().invoke(history.command, ["--repo", address])
        assert isinstance(done.exception, FaultwatchError)
        assert SECRET not in str(done.exception)
        assert "127.0.0.1" in str(done.exception)
