from pathlib import Path

import pytest

from runner.adoption.proposal import BuildProposal
from runner.adoption.tool_environment import add_tool_paths

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def tool(home: Path, name: str) -> None:
    file = home / ".cargo" / "bin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
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
