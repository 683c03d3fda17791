from pathlib import Path

import pytest

from runner.adoption.proposal import BuildProposal
from runner.adoption.tool_environment import add_found_tool, add_tool_paths
from runner.subject.missing_packages import find_missing_dependency

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def tool(home: Path, name: str, folder: str = ".cargo/bin", version: str = "") -> None:
    file = home / folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\necho {version}\n")
    file.chmod(0o755)


def test_a_tool_in_the_home_is_found_on_every_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "cargo")
    (tmp_path / ".rustup").mkdir()
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}/.cargo/bin:{SYSTEM}")
    found = add_tool_paths(BuildProposal("Cargo", "cargo build", ("cargo",)), tmp_path)
    assert found.environment == {"PATH": f"{{home}}/.cargo/bin:{SYSTEM}", "RUSTUP_HOME": "{home}/.rustup"}


def test_the_toolchains_of_another_folder_are_those_of_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, home = tmp_path / "shared", tmp_path / "home"
    tool(shared, "cargo")
    tool(shared, "rustup")
    (shared / ".rustup").mkdir()
    (home / ".rustup").mkdir(parents=True)
    monkeypatch.delenv("RUSTUP_HOME", raising=False)
    monkeypatch.setenv("PATH", f"{shared}/.cargo/bin:{SYSTEM}")
    cargo = BuildProposal("Cargo", "cargo build", ("cargo",))
    assert add_tool_paths(cargo, home).environment["RUSTUP_HOME"] == f"{shared}/.rustup"
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("RUSTUP_HOME", f"{tmp_path}/named")
    assert add_tool_paths(cargo, home).environment["RUSTUP_HOME"] == f"{tmp_path}/named"
    (shared / ".cargo" / "bin" / "rustup").unlink()
    assert "RUSTUP_HOME" not in add_tool_paths(cargo, home).environment, "rustup does not start this one"


def test_a_tool_that_the_build_finds_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "sh")
    monkeypatch.setenv("PATH", f"{tmp_path}/.cargo/bin:{SYSTEM}")
    assert add_tool_paths(BuildProposal("Make", "make", ("sh", "no-such-tool")), tmp_path).environment == {}


@pytest.mark.parametrize("path", ["/nowhere", "{home}/.local/bin:/nowhere"])
def test_a_tool_that_the_log_of_a_build_names_is_found_where_pipx_installs_it(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", path.format(home=tmp_path))
    part = find_missing_dependency("cython x.pyx\nmake: cython: No such file or directory\nmake: *** Error 127\n")
    assert part
    build = BuildProposal("Make", "make")
    assert add_found_tool(build, part, tmp_path) is None
    tool(tmp_path, "cython", ".local/bin")
    extended_build = add_found_tool(build, part, tmp_path)
    assert extended_build
    assert extended_build.environment == {"PATH": f"{{home}}/.local/bin:{SYSTEM}"}
    assert extended_build.tools == ("cython",)
    assert add_found_tool(extended_build, part, tmp_path) is None, "it lacks something else"


def test_a_tool_that_is_too_old_is_replaced_by_a_newer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "cmake", "system", "cmake version 3.25.1")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}/system")
    part = find_missing_dependency("  CMake 3.31 or higher is required.  You are running version 3.25.1\n")
    assert part
    build = BuildProposal("CMake", "cmake", ("cmake",), {"PATH": f"{tmp_path}/system"})
    assert add_found_tool(build, part, tmp_path) is None
    tool(tmp_path, "cmake", ".local/bin", "cmake version 4.1.0")
    extended_build = add_found_tool(build, part, tmp_path)
    assert extended_build
    assert extended_build.environment["PATH"] == f"{{home}}/.local/bin:{tmp_path}/system"
