"""From nothing to the first chart, by the documents alone: what they say is typed in fresh userlands, and timed."""

import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.e2e.browser import DESKTOP, chromium, drawn, launched, watch
from tests.e2e.test_demo import free_port
from tests.fresh.documents import INSTALL, commands
from tests.fresh.userland import Userland, userland
from tests.projects.project import Project
from tests.wheel.installation import ROOT, build_wheel

pytestmark = [
    pytest.mark.perf,
    pytest.mark.browser,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not os.environ.get("FAULTWATCH_TEST_FRESH"), reason="make test-fresh runs it, as root"),
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]
SYSTEMS = {"bookworm": "Debian", "trixie": "Debian", "noble": "Ubuntu"}
DOWNLOADS = "downloads"
MOST_SECONDS = 300
"""From the installation to the first chart, downloads apart."""


@dataclass(frozen=True)
class Kind:
    """A kind of project.

    Attributes
    ----------
    case
        The module of tests/projects/cases that makes it.
    tools
        What its authors have installed already.
    run
        The command that init chooses.
    """

    case: str
    tools: str
    run: str


KINDS = {
    "cmake": Kind("cmake", "cmake gcc libc6-dev make", "build/program"),
    "cargo": Kind("cargo", "cargo", "target/release/program"),
    "go": Kind("go", "golang-go", "bin/program"),
    "python": Kind("python_extension", "gcc python3-dev python3-venv", "venv/bin/python -m package"),
}
WALKS = [
    *((suite, kind, "you") for suite in ("trixie", "noble") for kind in KINDS),
    ("bookworm", "python", "you"),
    ("bookworm", "cmake", "root"),
]


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout, or the one that FAULTWATCH_WHEEL names."""
    named = os.environ.get("FAULTWATCH_WHEEL")
    return Path(named) if named else build_wheel(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.mark.parametrize(("suite", "kind", "user"), WALKS, ids=map("-".join, WALKS))
def test_a_project_has_its_first_chart_within_minutes(
    suite: str, kind: str, user: str, wheel: Path, tmp_path: Path
) -> None:
    project = Project(tmp_path / "project")
    importlib.import_module(f"tests.projects.cases.{KINDS[kind].case}").grow(project)
    project.git("rm", "--quiet", "workload.toml")
    project.git("commit", "--quiet", "--message", "Without a workload file")
    with userland(suite) as fresh:
        prepare(fresh, kind, user, project.folder, wheel)
        home = "/root" if user == "root" else f"/home/{user}"
        install(fresh, suite, user, f"{home}/{wheel.name}")
        init, history, serve = commands("adopting.md", "The first chart")
        done = fresh.run(init, user, f"{home}/project", step="init")
        assert f'command = "{KINDS[kind].run}"' in fresh.run("cat workload.toml", user, f"{home}/project").stdout
        # The range that init proposes: the project may have fewer commits than the document's.
        proposed = re.findall(r"`(faultwatch[^`]*)`", done.stdout.partition("Next:")[2])
        assert [shlex.split(line)[:2] for line in proposed] == [shlex.split(line)[:2] for line in (history, serve)]
        measured = fresh.run(proposed[0], user, f"{home}/project", step="history")
        chart = re.search(r"^Chart: http://127.0.0.1:8080(/series/\d+)$", measured.stdout, re.MULTILINE)
        assert chart, measured.stdout
        begin = time.monotonic()
        with served(fresh, serve, user) as address:
            points = charted(address, chart[1])
        fresh.seconds["chart"] = time.monotonic() - begin
    # The commit with which the changes are compared is measured too.
    assert points == min(int(project.git("rev-list", "--count", "HEAD")), 11)
    show(f"{SYSTEMS[suite]} {suite}, {kind}, {user}", fresh.seconds)
    assert sum(seconds for step, seconds in fresh.seconds.items() if step != DOWNLOADS) <= MOST_SECONDS


def prepare(fresh: Userland, kind: str, user: str, project: Path, wheel: Path) -> None:
    """Give the user what is there before Faultwatch: a clone, the tools that it is built with, and the wheel."""
    fresh.run(f"sudo apt-get update && sudo apt-get install --yes --no-install-recommends {KINDS[kind].tools}", user)
    fresh.copy(project, ".", user)
    fresh.copy(wheel, ".", user)


def install(fresh: Userland, suite: str, user: str, wheel: str) -> None:
    """Type what the document says; download before, so that the time of that is known."""
    for line in commands("installation.md", "With pipx", SYSTEMS[suite]):
        if line.startswith("sudo apt install"):
            fresh.run(line.replace("install", "install --download-only --yes", 1), user, step=DOWNLOADS)
        if line == INSTALL:
            fresh.run("python3 -m venv /tmp/e", user)
            fresh.run(f"/tmp/e/bin/pip download --quiet --dest /tmp/d '{wheel}[service]'", user, step=DOWNLOADS)
        local = line.replace("'faultwatch[service]'", f"'{wheel}[service]'")
        fresh.run(local, user, step=DOWNLOADS if line == "sudo apt update" else "install")


@contextmanager
def served(fresh: Userland, command: str, user: str) -> Iterator[str]:
    """Serve, on a port that is free on this machine, and end it with Ctrl-C."""
    address = f"http://127.0.0.1:{(port := free_port())}"
    words = fresh.command(f"exec env FAULTWATCH_PORT={port} {command}", user)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not answers(address):
                assert process.poll() is None, process.stderr and process.stderr.read()
                assert time.monotonic() < deadline, "the service does not answer"
                time.sleep(0.1)
            yield address
        finally:
            for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGINT)
            process.wait(30)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/api/v1/health", timeout=10) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def charted(address: str, path: str) -> int:
    """Open the chart whose address the history has printed; return how many points it shows."""
    with sync_playwright() as playwright, launched(playwright) as browser:
        watched = watch(browser.new_context(viewport=DESKTOP), address)
        page = watched.open(path)
        chart = drawn(page)
        watched.assert_quiet()
    left, top, right, bottom = chart["area"]
    points = [point for entries in chart["datasets"].values() for point in entries if point["url"]]
    for point in points:
        x, y = point["pixel"]
        assert left <= x <= right, point
        assert top <= y <= bottom, point
    return len({point["commit"] for point in points})


def show(walk: str, seconds: dict[str, float]) -> None:
    """Print the time of each step, past pytest's capture."""
    own = {step: taken for step, taken in seconds.items() if step != DOWNLOADS}
    parts = ", ".join(f"{step} {taken:.0f}" for step, taken in own.items())
    line = f"{walk}: {sum(own.values()):.0f} s ({parts}); downloads {seconds[DOWNLOADS]:.0f} s"
    print(f"\n{line}", file=sys.__stderr__, flush=True)
