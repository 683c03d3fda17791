"""The service narrows an open range down by itself: a real service, real runners, builds and counts.

`make test-narrowing` runs it: it measures most of a history, in a minute.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.real_service import RealService, running
from tests.runner.commands import git, make_history

pytestmark = [
    pytest.mark.perf,
    pytest.mark.timeout(600),
    pytest.mark.skipif("FAULTWATCH_TEST_NARROWING" not in os.environ, reason="only runs in make test-narrowing"),
]
COMMITS, SMALL, LARGE, LAST = 24, 9, 17, 22
"""From these commits on the program touches 3, 200 and 30 pages more. Only the last one's parent is measured too."""
PAGES = [10 + 3 * (number >= SMALL) + 200 * (number >= LARGE) + 30 * (number >= LAST) for number in range(COMMITS)]


def known(repo: Path) -> list[dict[str, Any]]:
    """Return the history as a runner sends it."""
    lines = git(repo, "log", "--format=%H|%P|%cI|%s").splitlines()
    fields = (line.split("|") for line in lines)
    return [
        {"commit": commit, "parents": parents.split(), "committed_at": at, "title": title}
        for commit, parents, at, title in fields
    ]


def events_of(service: RealService, commits: list[str], *culprits: int) -> list[dict[str, Any]]:
    """Return the events of some commits, as soon as the service has found them all."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return [event(service, commits, culprit) for culprit in culprits]
        except AssertionError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.5)


def event(service: RealService, commits: list[str], culprit: int) -> dict[str, Any]:
    """Return the event whose candidates a commit is one of."""
    for item in service.ask("/events?limit=100")["items"]:
        found: dict[str, Any] = service.ask(f"/events/{item['id']}")
        if commits[culprit] in [candidate["commit"] for candidate in found["candidates"]]:
            return found
    raise AssertionError(service.ask("/events")["items"])


def test_open_ranges_are_narrowed_down_on_an_idle_host_the_most_important_first(tmp_path: Path) -> None:
    repo = tmp_path / "pages"
    commits = make_history(repo, PAGES)
    with running(tmp_path, FAULTWATCH_IDLE_SECONDS="2") as service:
        service.ask("/health")
        service.ask("/subjects/pages/revisions", {"revisions": known(repo)}, "PUT")
        for first, last in ((0, 4), (12, 14), (20, 23)):
            service.measure("history", "--repo", str(repo), f"{commits[first]}..{commits[last]}")
        small, large, last = events_of(service, commits, SMALL, LARGE, LAST)
        assert [found["certainty"] for found in (small, large, last)] == ["range", "range", "single"]
        assert large["importance"] > small["importance"]
        service.ask("/subjects/pages", {"bisect_policy": "do", "author": "ann"}, "PATCH")

        deadline = time.monotonic() + 300
        while event(service, commits, LAST)["certainty"] != "proven":
            assert time.monotonic() < deadline, service.ask("/jobs?open=false")
            time.sleep(1)
        first, second, third = sorted(service.ask("/jobs?kind=bisect")["items"], key=lambda job: job["id"])
        assert (first["asked_by"], first["question"]["drift"]) == ("service", large["drifts"][0]["drift_id"])
        assert (second["asked_by"], second["question"]["drift"]) == ("service", small["drifts"][0]["drift_id"])
        # An only candidate comes last, although its change is not the smallest.
        assert (third["asked_by"], third["question"]["drift"]) == ("service", last["drifts"][0]["drift_id"])
        for culprit, name in ((LARGE, "large"), (SMALL, "small"), (LAST, "last")):
            found = event(service, commits, culprit)
            ended = [job["sentence"] for job in (first, second, third)]
            assert [entry["commit"] for entry in found["culprits"]] == [commits[culprit]], (name, ended)
            assert found["certainty"] == "proven"
            assert found["blamed"] == found["culprits"][0]["title"]
        # Nothing is open any more, so nothing is ordered any more.
        time.sleep(8)
        assert service.ask("/jobs?kind=bisect")["total"] == 3
