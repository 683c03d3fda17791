"""``faultwatch bisect`` builds the commits that it will probably measure next while it builds and measures others."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from tests.runner.commands import faultwatch, make_history

pytestmark = pytest.mark.perf


def test_the_next_commits_are_built_before_the_count_that_chooses_one(tmp_path: Path) -> None:
    log = tmp_path / "log"
    build = f"""grep -o 'return [0-9]*' pages.c >number; echo "build $(cat number)" >>{log}
cc -O0 -o pages pages.c; sleep 0.6; test -e {tmp_path}/paused && touch {tmp_path}/disturbed; true"""
    # A build that is not paused would end while a program is measured.
    run = f"""read number <number; echo "measure $number" >>{log}
touch {tmp_path}/paused; sleep 0.1; rm {tmp_path}/paused; exec ./pages"""
    workload = f"""
[workload]
name = "pages"
samples = 1
[build]
command = {json.dumps(["sh", "-c", build])}
[run]
command = {json.dumps(["sh", "-c", run])}
huge_pages = "never"
"""
    commits = make_history(tmp_path / "repo", [10, 10, 10, 20, 20], workload)
    words = ("bisect", f"{commits[0]}..{commits[-1]}", "--repo", "repo", "--no-proof", "--json")
    status, output, messages = faultwatch(tmp_path / "home", *words, FAULTWATCH_BUILD_JOBS="2")
    assert status == 0, messages
    (culprit,) = json.loads(output)["answer"]["culprits"]
    assert culprit["commit"] == commits[3]
    assert culprit["after"] - culprit["before"] == 10

    lines = log.read_text().splitlines()
    measured = list(dict.fromkeys(line.split()[-1] for line in lines if line.startswith("measure")))
    assert set(measured) == {"0", "4", "2", "3"}
    ahead = [
        now
        for last, now in pairwise(measured)
        if lines.index(f"build return {now}") < len(lines) - 1 - lines[::-1].index(f"measure return {last}")
    ]
    assert ahead, "a commit is built while the one before it is measured"
    built = {line.split()[-1] for line in lines if line.startswith("build")}
    assert built - set(measured) == {"1"}, "nobody knows yet on which side of the second commit the level changes"
    assert all(lines.count(f"build return {number}") == 1 for number in measured)
    assert not (tmp_path / "disturbed").exists(), "no build continues while a program is measured"
