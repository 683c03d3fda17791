"""``faultwatch job``: a search that was interrupted by hand goes on as the job that it is."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.commands import compiled_programs, served

ROOT = Path(__file__).parents[3]
HISTORY = ROOT / "workloads" / "copy_service" / "make_history.py"


@pytest.fixture(autouse=True)
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve all commands, each of which would else start its own service."""
    with served(tmp_path / "data") as proxy, compiled_programs(tmp_path / "data"):
        monkeypatch.setenv("FAULTWATCH_URL", proxy.url)
        yield


def faultwatch(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "runner", *arguments],
        cwd=folder,
        env=os.environ | {"FAULTWATCH_HOME": str(folder / "data"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(folder: Path, *arguments: str, status: int = 0) -> str:
    with faultwatch(folder, *arguments) as process:
        out, error = process.communicate(timeout=120)
    assert process.returncode == status, error
    return out + error


@pytest.mark.thorough
@pytest.mark.perf
def test_an_interrupted_search_is_paused_and_goes_on_as_a_job(tmp_path: Path) -> None:
    subprocess.run([sys.executable, str(HISTORY), "repo"], cwd=tmp_path, check=True, capture_output=True)
    search = ("bisect", "copy_service", "HEAD~13..HEAD~11", "--repo", "repo", "--no-proof")
    with faultwatch(tmp_path, *search) as process:
        assert process.stderr
        assert "to go" in process.stderr.readline(), "the first end is measured"
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    listed = said(tmp_path, "jobs")
    assert "paused" in listed
    assert "1 run " in listed
    assert "copy_service[mib=8,operations=25]" in listed

    assert "cannot be claimed" in said(tmp_path, "job", "run", "1", status=2)
    assert "queued" in said(tmp_path, "job", "resume", "1")
    done = said(tmp_path, "job", "run", "1")
    assert "job 1 is done" in done
    assert done.count(" faults") == 2, "what was measured before is not measured again"
    assert "3 runs" in said(tmp_path, "job", "list", "--all")
    assert "job 1 is done" in said(tmp_path, "job", "run", "1").lower()
    assert "cannot be cancelled" in said(tmp_path, "job", "cancel", "1", status=2)
    assert "There are no open jobs." in said(tmp_path, "jobs")
