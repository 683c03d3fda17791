"""Three `faultwatch bisect` that share a search: real processes, builds and counts on one machine, as three hosts."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.runner.commands import WORKLOAD

pytestmark = pytest.mark.perf

ROOT = Path(__file__).parents[3]
HOSTS = ("lab-1", "lab-2", "lab-3")
LEASE = 4
MEASURED = re.compile(r"^[0-9a-f]{10}  [0-9,]+ faults", re.MULTILINE)
"""A line about a measured commit."""
PROGRAM = """
#include <sys/mman.h>
int main(void) {{
    char *pages = mmap(0, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < {pages}; i++) pages[4096 * i] = 1;
    return 0;
}}
"""


def make_history(folder: Path, commits: int, culprit: int) -> None:
    """Make a long history of tiny commits, of which one touches 400 pages more."""

    def blob(path: str, text: str) -> str:
        return f"M 100644 inline {path}\ndata {len(text)}\n{text}\n"

    stream = []
    for number in range(commits + 1):
        title = f"Commit {number}"
        stream.append(
            f"commit refs/heads/main\nmark :{number + 1}\ncommitter a <a@localhost> {1700000000 + number} +0000\n"
            f"data {len(title)}\n{title}\n" + (f"from :{number}\n" if number else "")
        )
        stream.append(blob("number", str(number)))
        if number == 0:
            stream.append(blob("workload.toml", WORKLOAD))
        if number in {0, culprit}:
            stream.append(blob("pages.c", PROGRAM.format(pages=700 if number else 300)))
    subprocess.run(["git", "init", "-q", "-b", "main", str(folder)], check=True)
    git = ("git", "-C", str(folder))
    subprocess.run([*git, "fast-import", "--quiet"], input="".join(stream).encode(), check=True)
    subprocess.run([*git, "checkout", "-q", "main"], check=True)


class Hosts:
    """A service, and commands that measure as different hosts: each has a home, a clone and a host lock of its own."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home, self._stack = home, stack
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.url = f"http://127.0.0.1:{probe.getsockname()[1]}"
        port = self.url.rpartition(":")[2]
        settings = {"FAULTWATCH_LEASE_SECONDS": str(LEASE), "FAULTWATCH_JOBS_HERE": "no"}
        self._start("service", "service", "serve", "--port", port, **settings)
        deadline = time.monotonic() + 60
        while True:
            try:
                self.get("/health")
                break
            except OSError:
                assert time.monotonic() < deadline, (home / "service.err").read_text()
                time.sleep(0.1)

    def _start(self, name: str, *words: str, **settings: str) -> subprocess.Popen[str]:
        lock = self.home / f"{name}.lock"
        lock.touch()
        own = {"FAULTWATCH_HOME": str(self.home / name), "FAULTWATCH_HOST": name, "FAULTWATCH_HOST_LOCK": str(lock)}
        errors = self._stack.enter_context((self.home / f"{name}.err").open("w"))
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=self.home,
            env=os.environ | {"PYTHONPATH": str(ROOT)} | own | settings,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        self._stack.callback(lambda: (process.kill(), process.communicate()))
        return process

    def bisect(self, name: str, span: str) -> subprocess.Popen[str]:
        pool = [word for host in HOSTS for word in ("--pool", host)]
        clone = self.home / f"{name}-clone" / "repo"
        if not clone.exists():  # as on machines of their own
            shutil.copytree(self.home / "repo", clone, symlinks=True)
        words = ("runner", "bisect", span, "--repo", str(clone), "--least", "50", "--json", *pool)
        return self._start(name, *words, FAULTWATCH_URL=self.url)

    def said(self, name: str) -> str:
        return (self.home / f"{name}.err").read_text()

    def get(self, path: str) -> Any:
        with urlopen(f"{self.url}/api/v1{path}", timeout=30) as answer:
            return json.load(answer)

    def measured(self) -> Counter[str]:
        """Return how often each commit was measured, apart from the proof."""
        runs = self.get("/runs?limit=1000")["items"]
        reports = [self.get(f"/runs/{run['run_id']}") for run in runs]
        return Counter(report["revision"]["commit"] for report in reports if report["purpose"] == "bisect")


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    with ExitStack() as stack:
        yield Hosts(tmp_path, stack)


def result(hosts: Hosts, process: subprocess.Popen[str]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=240)
    assert out, "\n".join(f"{name} said:\n{hosts.said(name)}" for name in HOSTS)
    answer: dict[str, Any] = json.loads(out)["answer"]
    return answer


def commit(hosts: Hosts, name: str) -> str:
    found = subprocess.run(
        ["git", "-C", str(hosts.home / "repo"), "rev-parse", name], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def test_three_hosts_come_to_the_same_result_and_measure_no_commit_twice(hosts: Hosts) -> None:
    make_history(hosts.home / "repo", commits=1000, culprit=700)
    searches = {name: hosts.bisect(name, "main~1000..main") for name in HOSTS}
    answers = {name: result(hosts, search) for name, search in searches.items()}
    said = {name: hosts.said(name) for name in HOSTS}
    assert {search.returncode for search in searches.values()} == {0}, said
    assert answers["lab-1"] == answers["lab-2"] == answers["lab-3"]
    (culprit,) = answers["lab-1"]["culprits"]
    assert culprit["commit"] == commit(hosts, "main~300")
    assert culprit["proof"]["state"] == "stands"
    measured = hosts.measured()
    assert max(measured.values()) == 1
    each = [len(MEASURED.findall(text)) for text in said.values()]
    assert sum(each) == len(measured)
    assert max(each) < 12, "one host alone measures 12"
    assert sum("as a proof" in text for text in said.values()) == 1
    assert "waiting for lab-" in "".join(said.values())


def test_a_host_that_is_killed_delays_the_others_and_does_not_end_their_search(hosts: Hosts) -> None:
    make_history(hosts.home / "repo", commits=200, culprit=60)
    searches = {name: hosts.bisect(name, "main~200..main") for name in HOSTS}
    deadline = time.monotonic() + 120
    while len(MEASURED.findall(hosts.said("lab-2"))) < 2:
        assert time.monotonic() < deadline, hosts.said("lab-2")
        time.sleep(0.02)
    searches["lab-2"].kill()
    answers = [result(hosts, searches[name]) for name in ("lab-1", "lab-3")]
    assert answers[0] == answers[1], [hosts.said(name) for name in HOSTS]
    (culprit,) = answers[0]["culprits"]
    assert culprit["commit"] == commit(hosts, "main~140")
    assert culprit["proof"]["state"] == "stands"
    assert max(hosts.measured().values()) == 1

    again = hosts.bisect("lab-2", "main~200..main")
    assert result(hosts, again) == answers[0], "the killed command, started again, has the result at once"
    assert "to go" not in hosts.said("lab-2")
