import os
from pathlib import Path

import pytest

from runner.environment import compilers


def program(folder: Path, name: str, body: str) -> str:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return str(file)


def test_first_line_of_what_a_tool_says(tmp_path: Path) -> None:
    tools = {
        "cc": program(tmp_path, "cc", "echo 'cc (Distro) 12.2.0'; echo Copyright"),
        "fortran": str(tmp_path / "absent"),
        "linker": program(tmp_path, "ld", "exit 1"),
    }
    found = compilers.read_settings(tools)
    assert found == {"compiler.cc": "cc (Distro) 12.2.0", "compiler.fortran": None, "compiler.linker": None}


def test_asked_once(tmp_path: Path) -> None:
    tool = program(tmp_path, "cc", f"echo x >> {tmp_path}/asked; echo cc 1")
    assert {compilers.read_version(tool) for _ in range(3)} == {"cc 1"}
    assert (tmp_path / "asked").read_text() == "x\n"


def test_in_english_whatever_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert compilers.read_version(program(tmp_path, "cc", "echo $LC_ALL")) == "C"
    assert os.environ["LC_ALL"] == "de_DE.UTF-8"
