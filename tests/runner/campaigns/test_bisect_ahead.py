"""``faultwatch bisect`` builds several commits side by side, and none while a program is measured."""

import json
from pathlib import Path

import pytest

from tests.runner.commands import faultwatch, make_history

pytestmark = pytest.mark.perf


@pytest.mark.thorough
def test_commits_are_built_side_by_side(tmp_path: Path, service_url: str) -> None:
    log = tmp_path / "log"
    build = f"""grep -o 'return [0-9]*' pages.c >number; echo "build $(cat number)" >>{log}
cc -O0 -o pages pages.c; sleep 0.6; test -e {tmp_path}/paused && touch {tmp_path}/disturbed; true"""
    # A build that is not paused would end while a program is measured.
    run = f"""read number <number; echo "measure $number" >>{log}
touch {tmp_path}/paused; sleep 0.1; rm {tmp_path}/paused; exec ./pages"""
    workload = f"""
[workload]
name = "pages"
[build]
command = {json.dumps(["sh", "-c", build])}
[run]
command = {json.dumps(["sh", "-c", run])}
huge_pages = "never"
"""
    commits = make_history(tmp_path / "repo", [10, 10, 10, 20, 20], workload)
    words = ("bisect", f"{commits[0]}..{commits[-1]}", "--repo", "repo", "--no-proof", "--json")
    status, output, messages = faultwatch(tmp_path / "home", *words, url=service_url, FAULTWATCH_BUILD_JOBS="2")
    assert status == 0, messages
    (culprit,) = json.loads(output)["answer"]["culprits"]
    assert culprit["commit"] == commits[3]
    assert culprit["after"] - culprit["before"] == 10

    lines = log.read_text().splitlines()
    first_measured = next(at for at, line in enumerate(lines) if line.startswith("measure"))
    assert sorted(lines[:first_measured]) == ["build return 0", "build return 4"], "both ends, before the first count"
    built = [line for line in lines if line.startswith("build")]
    measured = {line for line in lines if line.startswith("measure")}
    assert len(built) == len(measured), "what is built is measured"
    assert not (tmp_path / "disturbed").exists(), "no build continues while a program is measured"
