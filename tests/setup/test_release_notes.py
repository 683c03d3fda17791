"""The notes of a release are what the changelog says about it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHANGES = """# Changes

## 1.10.0

Ten.

## 1.1.0

One.

- a

## 1.0.0, unreleased

Nothing.
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    (tmp_path / "setup").mkdir()
    return Path(shutil.copy(ROOT / "setup/release-notes", tmp_path / "setup"))


def run(*command: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)


def test_the_section_of_a_version_is_printed(script: Path) -> None:
    assert run(script, "1.1.0").stdout == "One.\n\n- a\n"
    assert run(script, "1.10.0").stdout == "Ten.\n"


@pytest.mark.parametrize("version", ["1.0.0", "1.2.0", "1.1", "1.1.0, unreleased"])
def test_a_version_without_a_section_is_refused(script: Path, version: str) -> None:
    done = run(script, version)
    assert done.returncode == 1
    assert not done.stdout
    assert len(done.stderr.splitlines()) == 1
    assert f'"## {version}"' in done.stderr
