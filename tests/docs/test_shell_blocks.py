"""The shell blocks of each document, run in their order by one shell: a new user's, with an empty home.

The shell starts in ``parser``, the repository of ``project``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from tests.docs.blocks import BLOCKS, Block
from tests.docs.conftest import ALL
from tests.docs.project import make_project

RUN = {
    document: list(blocks)
    for document, blocks in groupby(
        (block for block in BLOCKS if block.language == "sh" and block.reason is None), lambda block: block.document
    )
}
TUTORIAL = Path("docs/tutorial/first-regression.md")
SERVER_TUTORIAL = Path("docs/tutorial/first-server.md")
TO_ADOPT = (Path("README.md"), Path("docs/how-to/adopting.md"))
"""Documents that write the workload file themselves."""
SECONDS = 280

pytestmark = [
    pytest.mark.perf,
    pytest.mark.skipif(not ALL, reason="make test-docs runs the shell blocks"),
]


@pytest.fixture
def project(tmp_path: Path, document: Path) -> Path:
    folder = tmp_path / "parser"
    make_project(folder, adopted=document not in TO_ADOPT)
    return folder


def run(blocks: list[Block], folder: Path, home: Path) -> str:
    """Run blocks in one shell; return what they printed. Any command that fails ends it."""
    home.mkdir()
    environment = {
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        **{name: os.environ[name] for name in ("FAULTWATCH_HOST_LOCK",) if name in os.environ},
    }
    # A service was here before: its database exists.
    script = "\n".join(["faultwatch-service upgrade", *(f"# {block}\n{block.text}" for block in blocks)])
    done = subprocess.run(
        ["bash", "-eu", "-o", "pipefail", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("document", sorted(set(RUN) - {TUTORIAL, SERVER_TUTORIAL}), ids=str)
def test_the_shell_blocks_of_a_document_run(document: Path, project: Path, tmp_path: Path) -> None:
    run(RUN[document], project, tmp_path / "home")


def test_the_tutorial_catches_its_regression(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    said = run(RUN[TUTORIAL], folder, tmp_path / "home")
    assert "minor-faults 10,2" in said
    assert "(+92,160, " in said
    assert "Free the buffer after each request\n" in said
    assert "main  sums.c:10" in said
    assert "−92,160" in said
    if not Path("/sys/kernel/tracing/events").is_dir():
        pytest.skip(
            "no tracepoints, which the tutorial's diagnosis needs: mount -t tracefs tracefs /sys/kernel/tracing"
        )
    assert "Diagnosis: Temporary buffers are mapped again for each operation" in said


def test_the_tutorial_of_a_server_catches_its_regression(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    said = run(RUN[SERVER_TUTORIAL], folder, tmp_path / "home")
    assert "minor-faults 0 → 3,000 (+3,000)" in said
    assert "Give each answer memory of its own\n" in said
    assert "changed after 20 pairs" in said


def test_the_readme_is_among_the_documents_that_are_run() -> None:
    assert {Path("README.md"), TUTORIAL, SERVER_TUTORIAL} <= set(RUN)
