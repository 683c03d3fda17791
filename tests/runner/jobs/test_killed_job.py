"""A bisect that the service ordered, while its runner and the service are killed at each step of it.

Real processes, builds and counts: nothing is lost, and nothing is measured twice.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.e2e.real_service import RealService, running
from tests.runner.commands import WORKLOAD, compiled_programs

ROOT = Path(__file__).parents[3]
COMMITS = 16
MOST_KILLS = 1000 if "FAULTWATCH_TEST_KILLS" in os.environ else 3
"""`make test-kills` kills at every step; otherwise the runner, the service and both are killed once each."""
CULPRIT = 11
PROGRAM = """
#include <sys/mman.h>
int main(void) {{
    char *pages = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < {pages}; i++) pages[4096 * i] = 1;
    return {number} * 0;
}}
"""


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A history of tiny commits, of which one touches ten pages more."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@localhost")
    subprocess.run([*git, "init", "-q"], check=True)
    (folder / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    for number in range(COMMITS + 1):
        text = PROGRAM.format(pages=20 if number >= CULPRIT else 10, number=number)
        (folder / "pages.c").write_text(text, encoding="utf-8")
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-qm", f"Commit {number}"], check=True)
    return folder


def kill_runner(service: RealService) -> None:
    """Kill whatever carries out a job of this service, and all that it has started."""
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if b"job" in words and f"FAULTWATCH_HOME={service.home}\0".encode() in (entry / "environ").read_bytes():
                os.killpg(int(entry.name), signal.SIGKILL)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[RealService]:
    with running(tmp_path, FAULTWATCH_LEASE_SECONDS="2") as made, compiled_programs(made.home):
        yield made
        made.stop(signal.SIGKILL)
        kill_runner(made)


@pytest.mark.thorough
@pytest.mark.perf
@pytest.mark.timeout(600)
def test_a_bisect_survives_kills_at_every_step(service: RealService, history: Path) -> None:
    service.ask("/health")
    service.measure("history", "--repo", str(history), "HEAD~1..HEAD")  # so that this host knows the subject
    question = {"kind": "bisect", "subject": "repo", "case": "pages", "good": f"HEAD~{COMMITS}", "bad": "HEAD"}
    job = service.ask("/jobs", {"question": question})
    victims = ["runner", "service", "both"]
    seen = kills = 0
    deadline = time.monotonic() + 500
    while job["state"] not in {"done", "failed", "cancelled"}:
        assert time.monotonic() < deadline, job
        time.sleep(0.2)
        job = service.ask(f"/jobs/{job['id']}")
        if kills == MOST_KILLS or len(job["runs"]) <= seen or job["state"] != "running":
            continue
        seen = len(job["runs"])
        victim = victims[kills % len(victims)]
        kills += 1
        if victim != "service":
            kill_runner(service)
        if victim != "runner":
            service.stop(signal.SIGKILL)
            service.start()
    assert (job["state"], kills >= 3) == ("done", True), job
    (culprit,) = job["result"]["answer"]["culprits"]
    assert culprit["after"] - culprit["before"] == 10
    assert culprit["proof"]["state"] == "stands"

    runs = service.ask("/runs?limit=100")["items"]
    assert all(run["outcome"] == "measured" for run in runs)
    times = Counter(run["revision"] for run in runs)
    proof = {culprit["commit"], culprit["parent"]}
    assert all(times[commit] <= 1 + (commit in proof) for commit in times), "the proof measures its pair again"
    assert len(times) <= 8, "and the two commits of the history before it"
    assert len(job["runs"]) == len(runs) - 2, "the job counts each run that was made for it, once"
