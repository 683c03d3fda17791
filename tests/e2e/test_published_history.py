"""A history without a service: real builds, real perf stat, files in folders and branches, and pages from a disk."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from tests.e2e.browser import DESKTOP, chromium, comes_true, drawn, launched, watch
from tests.runner.commands import faultwatch, git, make_history

pytestmark = pytest.mark.perf


def measure(tmp_path: Path, place: str, *words: str, **variables: str) -> dict[str, Any]:
    """Measure a history into a store; return what the command says as JSON."""
    options = ("--repo", "repo", "--store", place, "--no-prove", "--json")
    status, output, messages = faultwatch(tmp_path / "home", "history", *words, *options, **variables)
    assert status == 0, messages
    document: dict[str, Any] = json.loads(output)
    return document


def publish(tmp_path: Path, place: str, *words: str) -> Path:
    status, output, messages = faultwatch(tmp_path / "home", "publish", place, "--to", "site", *words)
    assert status == 0, messages
    assert "Open " in output
    return tmp_path / "site"


@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="no Chromium is installed")
@pytest.mark.thorough
def test_two_jobs_measure_their_stores_are_merged_and_the_pages_open_from_a_disk(tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10, 10, 10, 30, 30])
    first = measure(tmp_path, "one", "--revision", "HEAD~2")
    assert (first["measured"], first["stored"], first["drifts"]) == (3, 0, [])
    measure(tmp_path, "two", "HEAD~2..HEAD")
    before = {file: file.read_bytes() for file in (tmp_path / "one").rglob("*.json")}
    shutil.copytree(tmp_path / "two", tmp_path / "one", dirs_exist_ok=True)

    merged = measure(tmp_path, "one")
    again = measure(tmp_path, "one")
    assert [drift["revision"] for drift in merged["drifts"]] == [commits[3]]
    assert again["measured"] == again["reused"] == 0, "all runs are taken from the store"
    assert [drift["revision"] for drift in again["drifts"]] == [commits[3]]
    assert all(file.read_bytes() == content for file, content in before.items())
    assert not (tmp_path / "home" / "faultwatch.db").exists(), "no other database has them"

    site = publish(tmp_path, "one")
    with sync_playwright() as playwright, launched(playwright) as browser:
        watched = watch(browser.new_context(viewport=DESKTOP), f"{site.as_uri()}/")
        page = watched.open("index.html")
        page.get_by_role("link", name="minor faults").locator("visible=true").first.click()
        page.get_by_role("link", name="Minor faults", exact=True).first.click()
        assert comes_true(page, "() => Boolean(globalThis.Chart?.getChart(document.querySelector('canvas')))", 10)
        shown = {point["commit"] for point in drawn(page)["datasets"]["path"]}
        assert shown == {commit[:10] for commit in commits}
        page.get_by_role("button", name="By time").click()
        page.get_by_role("button", name="Log").click()
        page.get_by_role("button", name="Reset zoom").click()
        page.get_by_role("link", name="repo").click()
        page.wait_for_url("**/subjects/repo.html")
        watched.assert_quiet()
        watched.assert_accessible()


@pytest.mark.thorough
def test_a_branch_keeps_the_runs_and_the_project_stays_as_it_is(tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10, 10])
    before = git(tmp_path / "repo", "for-each-ref", "refs/heads/main"), git(tmp_path / "repo", "status", "--short")
    assert measure(tmp_path, "branch:faultwatch-data")["measured"] == 2
    assert measure(tmp_path, "branch:faultwatch-data")["measured"] == 0
    assert before == (
        git(tmp_path / "repo", "for-each-ref", "refs/heads/main"),
        git(tmp_path / "repo", "status", "--short"),
    )
    assert (publish(tmp_path, "branch:faultwatch-data", "--repo", "repo") / "index.html").exists()


def test_an_empty_store_and_a_configured_service_are_refused(tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10])
    status, _, messages = faultwatch(
        tmp_path / "home", "history", "--repo", "repo", "--store", "one", url="http://127.0.0.1:9"
    )
    assert status == 2
    assert "--store and FAULTWATCH_URL both say where runs are kept" in messages
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "faultwatch-store.json").write_text('{"version": 1}')
    for place, why in (("empty", "has no runs"), ("nowhere", "there is no run store")):
        status, _, messages = faultwatch(tmp_path / "home", "publish", place, "--to", "site")
        assert status == 2
        assert why in messages
    assert not (tmp_path / "site").exists()


@pytest.mark.thorough
def test_a_machine_of_a_pool_measures_only_what_no_other_has_once_three_commits_are_equal(tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10, 10, 10, 10, 30])

    def measure_on(machine: str, revision: str) -> dict[str, Any]:
        words = ("--revision", revision, "--measure-all", "--env", f"MACHINE={machine}")
        return measure(tmp_path, "one", *words, FAULTWATCH_POOL="ci")

    assert measure_on("1", "HEAD~2")["measured"] == 3
    assert measure_on("2", "HEAD~2")["measured"] == 3, "not proven yet"
    measure_on("1", "HEAD")
    last = measure_on("2", "HEAD")
    assert (last["measured"], last["stored"]) == (0, 5)
    assert [(drift["host"], drift["cause"], drift["revision"]) for drift in last["drifts"]] == [
        ("ci", "commit", commits[4])
    ]
