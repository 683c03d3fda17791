"""What is measured for the findings stays on this machine, whatever service the developer uses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import findings.__main__
from findings import real_programs

_MAINS = {"findings": findings.__main__.main, "programs": real_programs.main}


@pytest.mark.parametrize(("command", "name"), [("findings", "lua"), ("programs", "sqlite")])
def test_the_commands_are_not_told_of_a_service(
    command: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"DATABASE_URL", "FAULTWATCH_TOKEN", "FAULTWATCH_TOKEN_FILE", "FAULTWATCH_URL"}
    for variable in told:
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    # Stands in for the command: it shows its variables, and fails.
    (tmp_path / "faultwatch").write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\nexit 3\n")
    (tmp_path / "faultwatch").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(findings.__main__, "ROOT", tmp_path)
    monkeypatch.setattr(real_programs, "ROOT", tmp_path)
    monkeypatch.setattr(findings.__main__, "clone", lambda *_: None)
    with pytest.raises(SystemExit, match="exit code 3"):
        _MAINS[command]([name])
    seen = dict(line.partition("=")[::2] for line in (tmp_path / "seen").read_text().splitlines())
    assert seen["FAULTWATCH_HOME"].startswith(str(tmp_path / "build"))
    assert not told & seen.keys()
