from pathlib import Path

import pytest

from runner.adoption.proposal import BuildProposal
from runner.adoption.tools_found import with_tools

SYSTEM = "/usr/local/bin:/usr/bin:/bin"


def tool(home: Path, name: str) -> None:
    file = home / ".cargo" / "bin" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)


def test_a_tool_in_the_home_is_found_on_every_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "cargo")
    (tmp_path / ".rustup").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path}/.cargo/bin:{SYSTEM}")
    found = with_tools(BuildProposal("Cargo", "cargo build", ("cargo",)), tmp_path)
    assert found.environment == {"PATH": f"{{home}}/.cargo/bin:{SYSTEM}", "RUSTUP_HOME": "{home}/.rustup"}


def test_a_tool_that_the_build_finds_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool(tmp_path, "sh")
    monkeypatch.setenv("PATH", f"{tmp_path}/.cargo/bin:{SYSTEM}")
    assert with_tools(BuildProposal("Make", "make", ("sh", "no-such-tool")), tmp_path).environment == {}
