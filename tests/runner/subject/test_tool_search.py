from pathlib import Path

import pytest

from runner.subject.tool_search import find_missing_tool, find_tool_outside, suggest_path

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "bin" / "crago"
    file.parent.mkdir()
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{SYSTEM}:{file.parent}")
    return file


def test_a_tool_outside_of_the_path_is_named_with_what_to_write(tool: Path) -> None:
    assert find_tool_outside("crago", SYSTEM) == tool
    assert suggest_path("crago", SYSTEM) == (
        f"crago is at {tool}, outside the build's PATH ({SYSTEM}): "
        f'write PATH = "{tool.parent}:{SYSTEM}" under [build.environment]'
    )


def test_nothing_is_said_of_a_tool_that_is_there_or_nowhere() -> None:
    assert suggest_path("sh", SYSTEM) == suggest_path("no-such-tool", SYSTEM) == suggest_path("", SYSTEM) == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("sh: 1: crago: not found", "crago"),
        ("/bin/sh: 1: crago: not found", "crago"),
        ("bash: line 1: crago: command not found", "crago"),
        ("./build.sh: line 12: g++-12: command not found", "g++-12"),
        ("make[1]: crago: No such file or directory", "crago"),
        ("env: ‘crago’: No such file or directory", "crago"),
        ("cc: error: x.c: No such file or directory", ""),
        ("the file was not found", ""),
        ("", ""),
    ],
)
def test_the_program_that_a_log_reports_as_missing(line: str, name: str) -> None:
    assert find_missing_tool(f"cc -c x.c\n{line}\nmake: *** [all] Error 127\n") == name
