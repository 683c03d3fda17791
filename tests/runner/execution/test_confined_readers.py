"""Tools that read untrusted files see only what they are given, write nothing and reach no network."""

import subprocess
from pathlib import Path

import pytest

from runner.execution.confined_readers import build_reader_prefix
from runner.execution.sandbox import create_sandbox


@pytest.mark.parametrize("sandboxed", [True, False])
def test_a_tool_that_reads_what_strangers_wrote_can_do_nothing_else(sandboxed: bool, tmp_path: Path) -> None:
    seen, secret = tmp_path / "seen", tmp_path / "secret"
    seen.mkdir()
    for folder, text in ((seen, "a stranger's"), (tmp_path, "mine")):
        (folder / ("file" if folder == seen else "secret")).write_text(text)
    within = build_reader_prefix(create_sandbox() if sandboxed else None, seen)

    def tried(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*within, *words], check=False, capture_output=True, text=True)

    assert tried("cat", str(seen / "file")).stdout == "a stranger's"
    assert tried("cat", str(secret)).returncode == (1 if sandboxed else 0)
    assert tried("touch", str(seen / "new")).returncode != 0
    tried("touch", str(tmp_path / "new"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "secret", "seen"]
    interfaces = tried("cat", "/proc/net/dev").stdout.splitlines()[2:]
    assert all(line.strip().startswith("lo:") for line in interfaces)
