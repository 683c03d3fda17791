"""A settings lab on this host: cells are ordered by clicks in Chromium, measured by a real runner, and then shown.

`make test-lab` runs it: each cell is fifty executions and the checks of the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

from tests.e2e.browser import DESKTOP, chromium, launched, watch
from tests.e2e.real_service import running
from tests.runner.commands import git
from tests.runner.servers.repository import make_server_history

pytestmark = [
    pytest.mark.perf,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif("FAULTWATCH_TEST_LAB" not in os.environ, reason="only runs in make test-lab"),
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
]
WORKLOAD = """
[workload]
name = "buffers"
[build]
command = "cc -O0 -o buffers buffers.c"
[run]
command = ["./buffers"]
output = "json"
huge_pages = "never"
"""
PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(void) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int round = 0; round < 20; round++) {
        volatile char *buffer = malloc(1 << 20);
        for (int i = 0; i < 1 << 20; i += 4096) buffer[i] = 1;
        free((void *)buffer);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("{\\"operations\\": 20, \\"seconds\\": %f}\\n",
           end.tv_sec - begin.tv_sec + (end.tv_nsec - begin.tv_nsec) / 1e9);
}
"""
TUNABLES = "glibc.malloc.mmap_threshold=4194304:glibc.malloc.trim_threshold=16777216"
"""Keeps the buffer in the heap from the first round on: one mapping of 1 MiB less, which is 256 pages."""
SAVED = 256


@pytest.fixture
def service(tmp_path: Path) -> Iterator[str]:
    repo = tmp_path / "buffers"
    repo.mkdir()
    (repo / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    (repo / "buffers.c").write_text(PROGRAM, encoding="utf-8")
    git(repo, "init", "--quiet", "--initial-branch=main")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "-m", "Copy through buffers")
    with running(tmp_path) as service:
        service.measure("measure", "--repo", str(repo), "--send")
        yield service.address


BUFFER = """
    volatile char *buffer = malloc(40 << 20);
    for (int page = 0; page < 16; page++)
        buffer[page * 4096] = 1;
    free((void *)buffer);
"""
"""A buffer that is larger than glibc keeps by itself: each request has the faults of its pages again."""
REQUESTS, TOUCHED = 100, 16


def faults(page: Page, text: str) -> int:
    """Return the faults that the first cell with a text shows."""
    shown = page.locator("table.lab td", has_text=text).first.locator(".figure").first.inner_text()
    match = re.match(r"[\d,]+", shown)
    assert match, shown
    return int(match[0].replace(",", ""))


def test_a_cell_is_ordered_by_a_click_measured_and_shown(service: str) -> None:
    with sync_playwright() as playwright, launched(playwright) as browser:
        context = browser.new_context(locale="en-GB", viewport=DESKTOP)
        watched = watch(context, service)
        page = watched.open("/lab")
        for name, value in (("GLIBC_TUNABLES", TUNABLES), ("MALLOC_ARENA_MAX", "1")):
            page.get_by_label("Add a setting").fill(name)
            page.get_by_label("Values").fill(value)
            page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("Measure all 3 empty cells")).to_be_visible()
        expect(
            page.get_by_text(
                "6 runs, because each cell is measured interleaved with the default cell: 156 executions, about"
            )
        ).to_be_visible()
        page.get_by_role("button", name=f"Measure GLIBC_TUNABLES {TUNABLES}", exact=True).click()
        expect(page.get_by_role("link", name="Job 1")).to_be_visible()
        expect(page.locator("td.best")).to_be_visible(timeout=120_000)
        before = faults(page, "default")
        assert faults(page, "best") == before - SAVED
        verdict = page.get_by_role("status").inner_text().replace("\xa0", " ")
        assert f"Best: GLIBC_TUNABLES {TUNABLES}, {SAVED} faults fewer than the default" in verdict
        assert "Of 3 other cells, 2 have not been measured." in verdict

        page.get_by_role("button", name="Measure all 2 empty cells").click()
        expect(page.get_by_role("status")).to_contain_text("No single cell is certain to be the best", timeout=180_000)
        assert page.locator("td[data-state=measured]").count() == 4
        watched.assert_fits()
        watched.assert_accessible()
        watched.assert_quiet()
        context.close()


def test_a_server_has_a_lab(tmp_path: Path) -> None:
    make_server_history(tmp_path / "served", [BUFFER], requests=REQUESTS)
    with (
        running(tmp_path) as service,
        sync_playwright() as playwright,
        launched(playwright) as browser,
    ):
        service.measure("measure", "--repo", str(tmp_path / "served"), "--send")
        watched = watch(browser.new_context(locale="en-GB", viewport=DESKTOP), service.address)
        page = watched.open("/lab")
        tunables = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=4294967296"
        page.get_by_label("Add a setting").fill("GLIBC_TUNABLES")
        page.get_by_label("Values").fill(tunables)
        page.get_by_role("button", name="Apply").click()
        page.get_by_role("button", name=f"Measure GLIBC_TUNABLES {tunables}", exact=True).click()
        expect(page.locator("td.best")).to_be_visible(timeout=240_000)
        saved = faults(page, "default") - faults(page, "best")
        assert abs(saved - REQUESTS * TOUCHED) <= TOUCHED
        watched.assert_quiet()
