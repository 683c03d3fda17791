from pathlib import Path

import pytest

from runner.execution.sandbox import Sandbox
from runner.subject.tool_search import advice, hidden_folders, missing_tool, whereabouts

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
    assert whereabouts("crago", SYSTEM) == tool
    assert advice("crago", SYSTEM) == (
        f"crago is at {tool}, outside of the build's PATH ({SYSTEM}): "
        f'write PATH = "{tool.parent}:{SYSTEM}" under [build.environment]'
    )


def test_nothing_is_said_of_a_tool_that_is_there_or_nowhere() -> None:
    assert advice("sh", SYSTEM) == advice("no-such-tool", SYSTEM) == advice("", SYSTEM) == ""


def test_what_the_sandbox_hides_is_named_with_the_setting_that_shows_it(tool: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    tree = tmp_path / "tree"
    tree.mkdir()
    variables = {"CACHE": f"{tmp_path}/cache", "HOME": str(tree), "NONE": "/no/such", "LC_ALL": "C"}
    variables["PATH"] = f"{tool.parent}:{SYSTEM}"
    assert hidden_folders("crago", variables, Sandbox(readable=("/opt",)), tree) == (
        f"the sandbox does not show {tmp_path} (crago), {tmp_path}/cache (CACHE): "
        f"set FAULTWATCH_SANDBOX_READ=/opt:{tmp_path}:{tmp_path}/cache on this host"
    )
    assert hidden_folders("crago", variables, Sandbox(readable=(str(tmp_path),)), tree) == ""
    assert hidden_folders("sh", {"PATH": SYSTEM}, Sandbox(), tree) == ""
    store = {"PATH": SYSTEM, "STORE": f"{tmp_path}/store", "OUT": f"{tree}/out"}
    lacking = f"this host lacks {tmp_path}/store (STORE), which a build in the sandbox cannot make"
    assert hidden_folders("sh", store, Sandbox(), tree, f"mkdir {tmp_path}/store: permission denied") == lacking
    assert hidden_folders("sh", store, Sandbox(), tree, "x.c:1: error: expected ';'") == ""


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
    assert missing_tool(f"cc -c x.c\n{line}\nmake: *** [all] Error 127\n") == name
