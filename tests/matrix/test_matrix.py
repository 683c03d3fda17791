"""Nightly runs on five emulated hosts: everything in the matrix is measured, and what moves is blamed on what was
changed.

``nightly.yml``'s steps are carried out as its jobs do: a plan, each host's part, a digest. The x86-64 hosts are made by
the playbook, on one machine whose disk the three boot with their own kernels. The aarch64 hosts get the runner on a
disk: under emulation the playbook would take them an hour. Counts are exact there, times are not. The tests build upon
each other, in this order. FAULTWATCH_TEST_MATRIX_HOSTS, such as ``x86-6.1,arm-64k``, leaves out the other hosts.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.browser import DESKTOP, Watched, chromium, launched, watch
from tests.e2e.real_service import RealService, running
from tests.matrix import x86
from tests.matrix.hosts import Host, carry_out, hosts, planner
from tests.matrix.project import NAME, Project

pytestmark = [
    pytest.mark.skipif("FAULTWATCH_TEST_MATRIX" not in os.environ, reason="make test-matrix boots five machines"),
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]

UPGRADED, BEFORE, AFTER = "x86-6.1", "6.1", "6.12"
CASES = 4 * 5
"""Configurations by workloads."""
MIB = 1 << 20


def pages(size: int, page: int) -> int:
    """Return how many pages hold so many bytes."""
    return -(-size // page)


def theory(page: int) -> dict[str, int]:
    """Return the faults in the region of the cases with two threads, as the READMEs of the workloads derive them."""
    return {
        "matrix_scan": 2 * 8 * pages(pages(1_265_444, page), max(1, (64 << 10) // page)),
        "tensor_copy": 5 * pages(4 * MIB, page),
        "fortran_init": 3 * pages(100**3 * 8 + 16, page),
        "image_filter": 2 * 5 * pages(640 * 480 * 4, page),
        "gallery_search": pages(16 * MIB, page),
    }


@dataclass
class Estate:
    """The hosts, the service, and what the nightly runs said."""

    hosts: dict[str, Host]
    project: Project
    service: RealService
    browser: Watched
    home: Path
    nightly_runs: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def absent(self) -> str:
        """The host that does not show up in the last nightly run."""
        return list(self.hosts)[-1]

    def need(self, *names: str) -> None:
        """Skip a test that needs hosts that were left out."""
        if missing := set(names) - set(self.hosts):
            pytest.skip(f"without {', '.join(sorted(missing))}")

    def nightly_run(self, name: str, at: Sequence[str]) -> dict[str, Any]:
        """Plan a nightly run, have some hosts carry it out, and return its digest."""
        planned = planner(self.project, self.service.address, self.home, "--name", name, "--plan")
        assert planned.returncode == 0, planned.stderr
        carry_out(name, [self.hosts[host] for host in at], self.project, self.service.address)
        told = planner(self.project, self.service.address, self.home, "--name", name, "--digest", "--json")
        digest: dict[str, Any] = json.loads(told.stdout)
        print(f"{name}: {digest['sentence']}", flush=True)
        for cell in digest["cells"]:
            odd = [f"{case['name']}: {case['state']}: {case['reason']}" for case in cell["cases"] if case["reason"]]
            if odd or cell["problem"] or not cell["carried_out"]:
                print("  ", cell["host"], cell["configuration"], cell["workload"], cell["problem"], *odd, flush=True)
        for drift in digest["drifts"]:
            print("  ", drift, flush=True)
        assert told.returncode == (0 if digest["complete"] else 1), told.stderr
        self.nightly_runs[name] = digest
        return digest

    def items(self, path: str) -> list[dict[str, Any]]:
        """Return all that the API lists there."""
        found: list[dict[str, Any]] = []
        while True:
            page = self.service.ask(f"{path}{'&' if '?' in path else '?'}limit=200&offset={len(found)}")
            found += page["items"]
            if len(found) >= page["total"] or not page["items"]:
                return found


@pytest.fixture(scope="module")
def estate() -> Iterator[Estate]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        project = Project.made(folder, os.environ.get("FAULTWATCH_TEST_MATRIX_HOSTS", ""))
        listed = planner(project, "", folder / "planner", "--list", "json")
        names = [job["host"] for job in json.loads(listed.stdout)["include"]]
        (folder / "service").mkdir()
        service = stack.enter_context(running(folder / "service", FAULTWATCH_JOBS_HERE="no"))
        made = stack.enter_context(hosts(names, folder))
        browser = stack.enter_context(launched(stack.enter_context(sync_playwright())))
        watched = watch(browser.new_context(locale="en-GB", viewport=DESKTOP), service.address)
        yield Estate(made, project, service, watched, folder / "planner")


def test_every_cell_is_done_or_its_reason_told(estate: Estate) -> None:
    digest = estate.nightly_run("night-1", list(estate.hosts))
    assert len(digest["cells"]) == len(estate.hosts) * CASES
    assert digest["absent_hosts"] == []
    for cell in digest["cells"]:
        assert cell["carried_out"]
        assert cell["cases"] or cell["problem"]
        assert all(case["state"] == "measured" or case["reason"] for case in cell["cases"])
    states = Counter(case["state"] for cell in digest["cells"] for case in cell["cases"])
    # Each is one case, and nearly all are measured: a host that cannot say why is not enough.
    assert states["measured"] == len(digest["cells"]), states
    assert digest["drifts"] == []


@pytest.mark.parametrize("host", ["x86-5.10", "x86-6.1", "x86-6.12", "arm-4k", "arm-64k"])
def test_counts_are_exact(estate: Estate, host: str) -> None:
    estate.need(host)
    page = int(estate.hosts[host].guest.run("getconf PAGESIZE").stdout)
    found = estate.items(f"/series?subject={NAME}&host={host}&metric=region:minor-faults")
    threads = {entry["workload"]: entry for entry in found if str(entry["parameters"].get("threads")) == "2"}
    points = {name: estate.service.ask(f"/series/{entry['id']}")["points"] for name, entry in threads.items()}
    assert {name: [point["value"] for point in found] for name, found in points.items()} == {
        name: [level] for name, level in theory(page).items()
    }


def test_a_page_size_changes_every_level(estate: Estate) -> None:
    """But for reads of mapped files: a fault maps 64 KiB around it, 16 pages of 4 KiB or one of 64."""
    estate.need("arm-4k", "arm-64k")
    page = estate.browser.open("/matrix?metric=region%3Aminor-faults&all=")
    expect(page.get_by_text("Last nightly run: night-1")).to_be_visible()
    # As columns, a host has one for each of its environments; a case is in one of them.
    heads = page.locator("table.matrix thead th").all_inner_texts()
    small, large = (
        [at for at, text in enumerate(heads) if text.startswith(f"{host} ")] for host in ("arm-4k", "arm-64k")
    )
    rows = page.locator("table.matrix tbody tr").all()
    assert len(rows) == CASES
    for row in rows:
        cells = [text.split("\n")[0] for text in row.locator("th, td").all_inner_texts()]
        levels = [{cells[at] for at in columns if "✕" not in cells[at]} for columns in (small, large)]
        assert all(len(found) == 1 for found in levels), cells
        assert (levels[0] == levels[1]) == cells[0].startswith("matrix"), cells
    estate.browser.assert_fits()
    estate.browser.assert_accessible()
    estate.browser.assert_quiet()


def test_a_second_night_without_a_change_has_no_drift(estate: Estate) -> None:
    estate.project.commit("Change a note")
    digest = estate.nightly_run("night-2", list(estate.hosts))
    assert digest["complete"], digest["sentence"]
    assert digest["drifts"] == []
    assert estate.items(f"/drifts?subject={NAME}") == []
    page = estate.browser.open("/matrix")
    cells = len(digest["cells"])
    expect(page.get_by_text(f"{cells} of {cells} cells are complete; no drift is new.")).to_be_visible()
    estate.browser.assert_quiet()


def test_a_kernel_upgrade_is_blamed_on_the_kernel(estate: Estate) -> None:
    """A commit comes the same night: the old one is measured with the new kernel, so that neither gets the other's."""
    estate.need(UPGRADED)
    old = estate.nightly_runs["night-2"]
    commit = estate.project.commit("Change another note")
    x86.start_kernel(estate.hosts[UPGRADED].guest, AFTER)
    digest = estate.nightly_run("night-3", [name for name in estate.hosts if name != estate.absent])
    assert digest["drifts"], "the kernels count alike: this test shows nothing"
    for drift in digest["drifts"]:
        assert (drift["host"], drift["cause"]) == (UPGRADED, "config"), drift
        assert "kernel.release" in drift["title"], drift
    found = estate.items(f"/drifts?subject={NAME}")
    assert {drift["id"] for drift in digest["drifts"]} == {drift["id"] for drift in found if not drift["below_floor"]}
    for drift in found:
        changed = {setting["name"]: (setting["before"], setting["after"]) for setting in drift["settings"]}
        assert changed["kernel.release"][0].startswith(f"{BEFORE}.")
        assert changed["kernel.release"][1].startswith(f"{AFTER}.")
    # The commit of the night before, with the new kernel.
    revisions = Counter(run["revision"] for run in estate.items(f"/runs?subject={NAME}&host={UPGRADED}"))
    assert revisions[commit] >= CASES
    assert sum(revisions.values()) >= 4 * CASES
    # What an earlier nightly run showed stays as it was.
    assert estate.service.ask("/nightly-runs/night-2")["drifts"] == old["drifts"]


def test_the_upgrade_and_the_host_that_is_away_are_seen(estate: Estate) -> None:
    estate.need(UPGRADED)
    page = estate.browser.open("/matrix?all=")
    digest = estate.nightly_runs["night-3"]
    drifts, cells = len(digest["drifts"]), len(digest["cells"])
    told = f"{cells - CASES} of {cells} cells are complete; {estate.absent} has not reported; {drifts} drift"
    expect(page.get_by_text(told)).to_be_visible()
    open_all(page)
    assert page.locator("tr", has_text=f"{estate.absent} has not reported").count() == CASES
    shown = page.get_by_role("group", name="Drifts of this nightly run").locator("tbody tr")
    assert shown.count() == drifts
    for row in shown.all():
        expect(row).to_contain_text("kernel.release")
        expect(row).to_contain_text("configuration")
    estate.browser.assert_fits()
    estate.browser.assert_accessible()
    shown.first.get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("kernel.release")
    estate.browser.assert_quiet()


def open_all(page: Page) -> None:
    """Open what is folded."""
    for summary in page.locator("main details:not([open]) > summary").all():
        summary.click()
