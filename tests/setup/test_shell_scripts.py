"""Every shell script of the repository passes shellcheck.

The scripts in templates and workflows are checked by tests/ansible and tests/workflows.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def scripts() -> list[Path]:
    """Return the tracked files that a shell runs."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = []
    for name in tracked.stdout.split("\0"):
        file = ROOT / name
        if file.is_file() and file.suffix != ".j2":
            with file.open("rb") as text:
                if re.match(rb"#!.*\b(ba|da)?sh\b", text.readline(100)):
                    found.append(file)
    return found


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed; make test installs it")
def test_shellcheck_finds_nothing() -> None:
    found = scripts()
    assert ROOT / "setup" / "system-packages" in found
    done = subprocess.run(["shellcheck", *found], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
