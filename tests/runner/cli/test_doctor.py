"""``faultwatch doctor`` and ``faultwatch env`` as people and programs see them."""

import io
import json
import uuid
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from runner.cli import doctor, env
from runner.cli.doctor_table import show_checks
from runner.contract import Environment
from runner.doctor.checks import is_measurable
from runner.doctor.result import Check, CheckStatus
from runner.errors import FaultwatchError
from runner.reporting.embedded_service import connect_to_service
from runner.settings import load_settings
from tests.service import reports

FINE = Check("perf", CheckStatus.OK, "perf 6.1")
WORSE = Check("turbo", CheckStatus.WARNING, "on: [times] vary", "echo 1 | sudo tee x")
BAD = Check("permission", CheckStatus.PROBLEM, "forbidden", "allow it")


def shown(checks: list[Check]) -> str:
    console = Console(file=io.StringIO(), width=100)
    show_checks(checks, is_measurable(checks), console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_table_says_it_in_words() -> None:
    text = shown([FINE, WORSE, BAD])
    rows = [line.split() for line in text.splitlines()]
    assert ["problem", "permission", "forbidden"] in rows
    assert "on: [times] vary" in text
    assert "→ echo 1 | sudo tee x" in text
    assert "This host cannot measure correctly yet: 1 problem, 1 warning." in text
    assert "This host can measure: no problems, no warnings." in shown([FINE])


@pytest.mark.parametrize(("checks", "code"), [([FINE, WORSE], 0), ([FINE, BAD], 1)])
def test_doctor_exit_code_and_json(checks: list[Check], code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.doctor.checks.run_checks", lambda host: iter(checks))
    result = CliRunner().invoke(doctor.command, ["--json"])
    document = json.loads(result.stdout)
    assert result.exit_code == code
    assert document["measurable"] is (code == 0)
    assert document["checks"][0] == {"name": "perf", "status": "ok", "finding": "perf 6.1", "remedy": ""}
    assert CliRunner().invoke(doctor.command).exit_code == code


@pytest.mark.perf
def test_env_prints_what_env_compares(tmp_path: Path) -> None:
    plain = CliRunner().invoke(env.command, ["--json"])
    tuned = CliRunner().invoke(env.command, ["--json", "--env", "MALLOC_CONF=narenas:1"])
    (tmp_path / "plain.json").write_text(plain.stdout)
    (tmp_path / "tuned.json").write_text(json.dumps({"environment": json.loads(tuned.stdout)}))
    files = [str(tmp_path / "plain.json"), str(tmp_path / "tuned.json")]
    assert CliRunner().invoke(env.command, ["--diff", files[0], files[0]]).exit_code == 0
    result = CliRunner().invoke(env.command, ["--json", "--diff", *files])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [{"setting": "variable.MALLOC_CONF", "before": None, "after": "narenas:1"}]
    assert "narenas:1" in CliRunner().invoke(env.command, ["--diff", *files]).stdout


@pytest.mark.parametrize(
    "text", [None, "", "[]", "3", "{}", '{"settings": {"a": 1}}', '{"environment": null}', "\udcff"]
)
def test_env_names_a_file_that_holds_none(text: str | None, tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    if text is not None:
        file.write_bytes(text.encode(errors="surrogateescape"))
    result = CliRunner().invoke(env.command, ["--diff", str(file), str(file)])
    assert isinstance(result.exception, FaultwatchError)
    assert str(file) in result.exception.what


@pytest.mark.perf
def test_env_compares_runs_that_the_service_holds(
    tmp_path: Path, service_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTWATCH_HOME", str(tmp_path))
    monkeypatch.setenv("FAULTWATCH_URL", service_url)
    saved = tmp_path / "saved.json"
    saved.write_text('{"settings": {"vm.swappiness": "60", "allocator": "glibc"}}')
    report = reports.report(1, 100, environment=Environment(settings={"vm.swappiness": "1", "allocator": "glibc"}))
    with connect_to_service(load_settings()) as service:
        service.send_revisions(report.subject, [report.revision])
        service.send_report(report)
    result = CliRunner().invoke(env.command, ["--json", "--diff", str(report.run_id), str(saved)])
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [{"setting": "vm.swappiness", "before": "1", "after": "60"}]
    unknown = CliRunner().invoke(env.command, ["--diff", str(uuid.uuid4()), str(saved)])
    assert isinstance(unknown.exception, FaultwatchError)
    assert "run" in unknown.exception.what
