"""Every command of ``faultwatch`` with values that its parameters do not accept: a line, exit code 2, nothing written.

The commands and their parameters come from the parser, so that a new one is covered. No service answers, and the
repository is empty: nothing is built or measured.
"""

import signal
from pathlib import Path

import click
import pytest
from urllib3.util.retry import Retry

from runner.cli import entry_point
from tests.runner.commands import git
from tests.walked_commands import Walked, list_commands, list_wrong_values

COMMANDS = list_commands(entry_point.cli)
REFUSES_NOTHING = {"doctor", "env", "workloads", "completion", "spool"}
"""These need neither a repository nor a service."""


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty repository, no service, and no change of this process."""
    (tmp_path / "repository").mkdir()
    git(tmp_path / "repository", "init", "--quiet")
    monkeypatch.chdir(tmp_path / "repository")
    (tmp_path / "lock").touch()
    for name, value in {
        "COLUMNS": "160",
        "HOME": str(tmp_path),
        "FAULTWATCH_HOME": str(tmp_path / "home"),
        "FAULTWATCH_HOST_LOCK": str(tmp_path / "lock"),
        "FAULTWATCH_URL": "http://127.0.0.1:1",
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(entry_point, "_disable_plugin_search", lambda: None)
    monkeypatch.setattr(Retry, "sleep", lambda *_: None)


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["faultwatch", *words])
    with pytest.raises(SystemExit) as ended:
        entry_point._run_command()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("command", COMMANDS, ids=str)
def test_a_wrong_value_is_a_line(
    command: Walked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    for parameter in command.parameters:
        for value in list_wrong_values(parameter, given):
            status = run(monkeypatch, *command.words, *command.fill(given, {parameter: value}))
            errors = capfd.readouterr().err
            said = f"{parameter.name} {value[:30]!r}: {errors}"
            assert status == 2 or command.name in REFUSES_NOTHING, said
            assert "Traceback" not in errors, said
            assert len(errors.splitlines()) <= 3, said
            if isinstance(parameter.type, click.Choice | click.types.IntParamType | click.types.FloatParamType):
                assert status == 2, said
                assert "Invalid value" in errors, said
    # The folder of an output file is made before anything is measured.
    assert {file.name for file in given.rglob("*")} <= {"file", "missing"}
