"""A remedy that a profile proposes: ordered by a click in Chromium, measured by a real runner, and shown.

`make test-lab` runs it: a trial is fifty executions and the checks of the host.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from runner.profile.permissions import detect_recording_permissions
from tests.e2e.browser import DESKTOP, chromium, launched, watch
from tests.e2e.real_service import RealService, running
from tests.runner.commands import faultwatch, git

pytestmark = [
    pytest.mark.perf,
    pytest.mark.browser,
    pytest.mark.timeout(600),
    pytest.mark.skipif("FAULTWATCH_TEST_LAB" not in os.environ, reason="only runs in make test-lab"),
    pytest.mark.skipif(chromium() is None, reason="no Chromium is installed"),
    pytest.mark.skipif(
        not detect_recording_permissions().tracepoints,
        reason="a profile of memory that returns needs the kernel's tracepoints",
    ),
]
WORKLOAD = """
[workload]
name = "buffers"
[build]
command = "cc -O0 -g -o buffers buffers.c"
[run]
command = ["./buffers"]
huge_pages = "never"
"""
MIB, ROUNDS = 33, 6
"""A buffer above the 32 MiB up to which glibc learns to keep what was freed."""
PROGRAM = f"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {{
    for (int round = 0; round < {ROUNDS}; round++) {{
        volatile char *buffer = malloc({MIB} << 20);
        for (int i = 0; i < {MIB} << 20; i += 4096) buffer[i] = 1;
        free((void *)buffer);
    }}
    puts("done");
}}
"""
SAVED = (ROUNDS - 1) * MIB * 256
"""Faults that the later rounds need no more, where the C library keeps the buffer."""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "buffers"
    folder.mkdir()
    (folder / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    (folder / "buffers.c").write_text(PROGRAM, encoding="utf-8")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Copy through buffers")
    return folder


@pytest.fixture
def service(repo: Path, tmp_path: Path) -> Iterator[RealService]:
    with running(tmp_path) as service:
        service.measure("profile", "--repo", str(repo))
        yield service


def test_a_remedy_is_ordered_by_a_click_measured_and_shown(service: RealService, repo: Path, tmp_path: Path) -> None:
    (profile,) = service.ask("/profiles")["items"]
    with sync_playwright() as playwright, launched(playwright) as browser:
        context = browser.new_context(locale="en-GB", viewport=DESKTOP)
        watched = watch(context, service.address)
        page = watched.open(f"/profiles/{profile['profile_id']}")
        finding = page.locator("article.finding", has_text="temporary-buffers")
        remedy = finding.locator("li", has_text="let the C library keep large blocks")
        command = remedy.locator("code").inner_text()
        remedy.get_by_role("button", name=re.compile("Try this: .*MALLOC_MMAP_THRESHOLD_=4294967296")).click()

        sentence = page.get_by_role("status")
        expect(sentence).to_contain_text("minor faults", timeout=120_000)
        shown = re.search(r"minor faults ([\d,]+) faults → ([\d,]+) faults", sentence.inner_text().replace("\xa0", " "))
        assert shown, sentence.inner_text()
        before, after = (int(figure.replace(",", "")) for figure in shown.groups())
        # glibc's header takes a page of each mapping.
        assert SAVED <= before - after <= SAVED + ROUNDS
        expect(page.locator("#runs ~ * tbody tr, section[aria-labelledby=runs] tbody tr")).to_have_count(2)
        watched.assert_fits()
        watched.assert_accessible()
        watched.assert_quiet()
        context.close()

    # The command that the page offers beside the button says the same.
    words = shlex.split(command)
    assert words[:2] == ["faultwatch", "try"]
    status, output, errors = faultwatch(tmp_path / "other", *words[1:], "--json", cwd=repo)
    assert status == 0, errors
    metrics = {metric["metric"]: metric for metric in json.loads(output)["comparison"]["metrics"]}
    assert metrics["minor-faults"]["change"] == after - before
