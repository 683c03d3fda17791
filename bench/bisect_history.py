"""A fault regression in the history of a real C project, found from the dashboard. ``make bench-bisect-history``.

``REPO=path`` names a clone of zlib (https://github.com/madler/zlib), which is only read. A patch that touches a buffer
nobody needs is planted in the middle of its last 600 commits, and all commits after it are made again with it. Then a
person in a real Chromium opens the drift between both ends and presses the button, and the job is carried out on this
host: real checkouts, real builds, real ``perf stat``.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from bench.report import finish_report, show_progress, show_steps
from bench.store_service import Service, fetch_page
from runner.reporting.client import Service as Client
from runner.subject.repository import open_repository
from tests.e2e.browser import launched

COMMITS = 600
MOST = 12
TITLE = "Keep a table for longer matches"
FILE = "deflate.c"
PLACE = b"    if (strm == Z_NULL) return Z_STREAM_ERROR;\n\n    strm->msg = Z_NULL;"
"""Where it is planted: in the first function that has it, as every version does."""
PATCH = b"""    {
        volatile char *table = (volatile char *)malloc(4L << 20);
        long at;
        for (at = 0; table != NULL && at < 4L << 20; at += 4096) table[at] = 0;
        free((void *)table);
    }
"""
LEAST_FAULTS = 1024
PATIENCE = 1800
"""Seconds for the whole search: each commit is built."""
WORKLOAD = Path(__file__).with_name("zlib_faults")
ROOT = Path(__file__).parents[1]


def main(repository: str) -> None:
    """Plant the regression, ask for it, and compare what was found."""
    misses: list[str] = []
    with tempfile.TemporaryDirectory(prefix="faultwatch-bench-") as folder:
        home, clone = Path(folder, "home"), Path(folder, "zlib")
        show_progress(f"planting the regression in a clone of {repository}", now=True)
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", repository, clone], check=True)
        good, planted, bad, commits = plant_patch(clone)
        service = Service(home)
        try:
            figures = _search_by_command(service, clone, (good, bad), misses)
        finally:
            service.stop()
    found = figures.pop("culprits")
    if found != [planted]:
        misses.append(f"found {found}, planted was {planted}")
    if commits < 500:
        misses.append(f"the history has {commits} commits, fewer than 500")
    print(f"{commits} commits, {figures['commits_measured']} measured, {figures['seconds']} s")
    finish_report("bisect-history", misses, {"commits": commits, **figures})


def plant_patch(clone: Path) -> tuple[str, str, str, int]:
    """Make a branch with the patch in its middle; return its good end, the culprit, its bad end, and how many commits.

    Raises
    ------
    ValueError
        If the history is too short, or a version has no place for the patch.
    """
    log = _run_git(
        clone, "log", "--topo-order", "--reverse", "--format=%H %P%x00%an <%ae> %at +0000%x00%T%x00%s"
    ).decode()
    entries = [line.split("\0") for line in log.splitlines()][-COMMITS - 1 :]
    if len(entries) <= COMMITS:
        raise ValueError(f"{clone} has fewer than {COMMITS} commits")
    parents = {entry[0].split()[0]: entry[0].split()[1:] for entry in entries}
    good, *line = parents
    middle = line[len(line) // 2]
    mark: dict[str, str] = {}
    stream: list[bytes] = []

    def commit(name: str, old: str, made_from: Sequence[str], about: Sequence[str]) -> None:
        sources = [mark.get(one, one) for one in made_from]
        mark[name] = f":{len(mark) + 1}"
        source = _run_git(clone, "show", f"{old}:{FILE}")
        if PLACE not in source:
            raise ValueError(f"{old} has no place for the patch")
        patched, title = source.replace(PLACE, PATCH + PLACE, 1), about[3].encode()
        stream.append(
            f"commit refs/heads/planted\nmark {mark[name]}\ncommitter {about[1]}\ndata {len(title)}\n".encode()
            + title
            + f"\nfrom {sources[0]}\n".encode()
            + "".join(f"merge {one}\n" for one in sources[1:]).encode()
            + f'M 040000 {about[2]} ""\nM 100644 inline {FILE}\ndata {len(patched)}\n'.encode()
            + patched
            + b"\n"
        )

    for entry in entries:
        old = entry[0].split()[0]
        if mark and any(parent in mark for parent in parents[old]):
            commit(old, old, parents[old], entry)
        if old == middle:
            # Whatever was made from this commit is made from it with the patch.
            commit(old, old, [old], [*entry[:3], TITLE])
    marks = clone.with_name("marks")
    _run_git(clone, "fast-import", "--quiet", f"--export-marks={marks}", given=b"".join(stream))
    _run_git(clone, "checkout", "--quiet", "planted")
    names = dict(row.split() for row in marks.read_text(encoding="ascii").splitlines())
    bad = _run_git(clone, "rev-parse", "planted").decode().strip()
    many = int(_run_git(clone, "rev-list", "--count", f"{good}..{bad}"))
    return good, names[mark[middle]], bad, many


def _search_by_command(service: Service, clone: Path, ends: tuple[str, str], misses: list[str]) -> dict[str, Any]:
    address = f"http://127.0.0.1:{service.port}"
    command = [sys.executable, "-m", "runner"]
    options = ["--repo", str(clone), str(WORKLOAD)]
    environment = os.environ | {"FAULTWATCH_URL": address, "FAULTWATCH_HOME": str(service.home)}

    def run(*arguments: str) -> None:
        subprocess.run([*command, *arguments], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)

    _send_commits(service, clone, ends)
    for end in ends:
        show_progress(f"measuring {end[:10]}", now=True)
        run("history", *options, f"{end}~1..{end}")
    started = time.monotonic()
    with sync_playwright() as playwright, launched(playwright) as browser:
        page = browser.new_page()
        job = _order_on_page(page, address)
        # The service starts it on this host, which knows the repository; the page follows by itself.
        page.goto(f"{address}/bisects/{job}")
        ended = page.locator(".badge", has_text=re.compile("^(done|failed|cancelled)$"))
        for _ in show_steps(range(1), "searches"):
            ended.wait_for(timeout=1000 * PATIENCE)
        seconds = time.monotonic() - started
        shown = page.locator("main").inner_text()
    if f"{TITLE}" not in shown or "proven" not in shown:
        misses.append("the page of the result does not show the proven culprit")
    twin = json.loads(fetch_page(service.connect(), f"/bisects/{job}.json"))
    if twin["job"]["state"] != "done":
        misses.append(f"the job is {twin['job']['state']}: {twin['job']['sentence']}")
    culprits = ((twin["search"] or {}).get("answer") or {}).get("culprits", [])
    # The ends were measured before, and again to be sure of their levels: those runs were stored, not ordered.
    alone = [one["commit"] for one in twin["measurements"] if not one["proof"] and one["number"] is not None]
    if len(set(alone)) > MOST:
        misses.append(f"{len(set(alone))} commits were measured, over {MOST}")
    misses += [f"{name[:10]} was measured {times} times" for name, times in Counter(alone).items() if times > 1]
    for one in culprits:
        if one["after"] - one["before"] < LEAST_FAULTS:
            misses.append(f"{one['commit']} moves only {one['after'] - one['before']} faults")
        if not one["proof"] or one["proof"]["state"] != "stands":
            misses.append(f"{one['commit']} is not proven")
    return {
        "culprits": [one["commit"] for one in culprits],
        "change": [one["after"] - one["before"] for one in culprits],
        "commits_measured": len(set(alone)),
        "runs": len(twin["measurements"]),
        "unbuildable": sum(one["value"] is None for one in twin["measurements"]),
        "seconds": round(seconds, 1),
        "load": os.getloadavg()[1],
    }


def _order_on_page(page: Page, address: str) -> int:
    """Go from the inbox to the event, and press the button; return the job's number."""
    page.goto(address)
    page.locator("a[href^='/events/']").first.click()
    page.get_by_role("button", name="Bisect", exact=True).click()
    page.wait_for_url("**/jobs/*")
    return int(page.url.rpartition("/")[2])


def _send_commits(service: Service, clone: Path, ends: tuple[str, str]) -> None:
    """Send the service the commits between the ends, as a daily history does."""
    repository = open_repository(str(clone), service.home)
    told = repository.list_revisions(f"{ends[0]}..{ends[1]}", first_parent=False)
    Client(f"http://127.0.0.1:{service.port}").send_revisions(
        repository.name, (repository.get_revision(ends[0]), *told)
    )


def _run_git(clone: Path, *arguments: str, given: bytes | None = None) -> bytes:
    return subprocess.run(["git", *arguments], cwd=clone, input=given, check=True, capture_output=True).stdout


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("make bench-bisect-history REPO=path: name a clone of zlib")
    main(sys.argv[1])
