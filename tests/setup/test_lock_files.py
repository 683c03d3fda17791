"""The lock files are installed as they are: pip does not look for versions of its own."""

import subprocess
import sys

import pytest

from tests.runner.commands import ROOT

INSTALLERS = (
    "Makefile",
    "Containerfile",
    "ansible/roles/release/tasks/build.yml",
    "ansible/roles/release/tasks/install.yml",
)


@pytest.mark.parametrize("file", INSTALLERS)
def test_pip_takes_the_locked_versions(file: str) -> None:
    """With dependencies, an older pip refuses a lock file as soon as something newer than a locked extra appears."""
    lines = [line for line in (ROOT / file).read_text(encoding="utf-8").splitlines() if "--require-hashes" in line]
    assert lines
    assert all("--no-deps --require-hashes" in line for line in lines), lines


def test_lock_files_are_complete() -> None:
    checked = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
