"""A revision whose program has the bytes of the one before is not measured, and that is said wherever it shows."""

import json
import re
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from runner.measuring.count_reuse import MIN_AGREEING_RUNS
from runner.subject.checked_commits import is_built_anyway, is_measured_anyway
from runner.workload import list_cases
from runner.workload.workload_lookup import find_workload
from tests.runner.commands import PROGRAM, WORKLOAD, Proxy, faultwatch, git, served

pytestmark = pytest.mark.perf
ATTEMPTS = 3
HISTORY = ("history", "--repo", "repo", "repo/workload.toml")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main")
    return folder


def commit(folder: Path, *, checked: bool = False, workload: str = WORKLOAD, **files: str) -> str:
    """Commit files; its hash decides whether it belongs to those that are measured in any case."""
    (folder / "workload.toml").write_text(workload, encoding="utf-8")
    (case,) = list_cases(find_workload(str(folder / "workload.toml")), ())
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "Try 0")
    number = 0
    while is_measured_anyway(git(folder, "rev-parse", "HEAD"), case) != checked:
        number += 1
        git(folder, "commit", "--quiet", "--amend", "--message", f"Try {number}")
    return git(folder, "rev-parse", "HEAD")


def program(pages: int) -> str:
    return PROGRAM.format(pages=pages, number=0)


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        body: bytes = answer.read()
    return body.decode()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Iterator[tuple[Path, Proxy]]]:
    """Yield data directories of a runner, each with an empty service."""
    with ExitStack() as stack:
        yield (
            (tmp_path / f"home-{attempt}", stack.enter_context(served(tmp_path / f"service-{attempt}")))
            for attempt in range(ATTEMPTS)
        )


def test_the_same_bytes_are_measured_once(services: Iterator[tuple[Path, Proxy]], repository: Path) -> None:
    earlier = [commit(repository, pages__c=program(10), README=f"{number}") for number in range(MIN_AGREEING_RUNS)]
    first = earlier[-1]
    doc = commit(repository, README="two")
    checked = commit(repository, README="three", checked=True)
    newest = commit(repository, README="four")
    counted = (
        f"{MIN_AGREEING_RUNS + 3} revisions: {MIN_AGREEING_RUNS + 2} measured, "
        "1 reused from runs of byte-identical programs"
    )
    # A busy host can disturb one of the many runs that have to agree. Then nothing is reused, and rightly.
    for home, proxy in services:
        status, output, messages = faultwatch(home, *HISTORY, url=proxy.url)
        assert status == 0, messages
        if f"{counted}, 0 stored before" in output:
            break
    assert f"{counted}, 0 stored before" in output
    assert len(re.findall(rf"{doc[:10]} .* reused from {first[:10]}", messages)) == 1

    runs = {run["revision"]: run for run in proxy.ask("/runs")["items"]}  # type: ignore[attr-defined]
    assert {name for name, run in runs.items() if run["reused"]} == {doc}
    report = proxy.ask(f"/runs/{runs[doc]['run_id']}")
    assert report["reused"] == {"run_id": runs[first]["run_id"], "commit": first}
    assert proxy.ask(f"/runs/{runs[checked]['run_id']}")["same_bytes_check"]["run_id"] == runs[first]["run_id"]  # type: ignore[index]

    service = proxy.service
    page = read(f"{service}/runs/{runs[doc]['run_id']}")
    assert "This revision was not measured." in page
    assert "In quarantine" not in page
    assert "reused" in read(f"{service}/runs")
    assert "quarantine" not in read(f"{service}/hosts")
    assert "reused" in read(f"{service}/runs.csv").splitlines()[0]
    series = next(row for row in proxy.ask("/series")["items"] if row["metric"] == "minor-faults")  # type: ignore[attr-defined]
    points = {point["revision"]: point for point in proxy.ask(f"/series/{series['id']}")["points"]}  # type: ignore[attr-defined]
    assert points[doc]["reused"]
    assert points[doc]["on_path"]
    assert points[doc]["value"] == points[first]["value"]

    # A change of a document needs no build either: all use the first one, or that of one that checked it.
    built = [name for name in (*earlier, doc, checked, newest) if is_built_anyway(name)]
    for name in {*earlier[1:], doc, checked, newest} - {*built}:
        report = proxy.ask(f"/runs/{runs[name]['run_id']}")
        assert report["build"]["built_commit"] in {earlier[0], *built}  # type: ignore[index]
        assert "because this revision changes only files that the build did not read" in read(
            f"{service}/runs/{report['run_id']}"
        )

    every = json.loads(faultwatch(home, *HISTORY, "--json", "--measure-all", url=proxy.url)[1])
    assert (every["measured"], every["reused"], every["stored"]) == (1, 0, MIN_AGREEING_RUNS + 2)


@pytest.mark.thorough
def test_a_commit_is_blamed_only_beside_one_that_was_measured(
    services: Iterator[tuple[Path, Proxy]], repository: Path
) -> None:
    for number in range(MIN_AGREEING_RUNS):
        commit(repository, pages__c=program(10), README=f"{number}")
    before = commit(repository, README="reused at first")
    more = commit(repository, pages__c=program(20))
    for home, proxy in services:
        status, output, messages = faultwatch(home, *HISTORY, "--json", url=proxy.url)
        assert status == 0, messages
        if json.loads(output)["reused"]:
            break
    assert json.loads(output)["reused"] == 1
    runs = [run for run in proxy.ask("/runs")["items"] if run["revision"] == before]  # type: ignore[attr-defined]
    assert sorted(bool(run["reused"]) for run in runs)[:2] == [False, True]
    (drift,) = proxy.ask("/drifts")["items"]  # type: ignore[misc]
    assert (drift["revision"], drift["change"]) == (more, 10)
    assert [candidate["commit"] for candidate in drift["candidates"]] == [more]


@pytest.mark.thorough
def test_the_last_revision_of_a_range_is_measured(services: Iterator[tuple[Path, Proxy]], repository: Path) -> None:
    for number in range(MIN_AGREEING_RUNS):
        commit(repository, pages__c=program(10), README=f"{number}")
    taken, last = (commit(repository, README=text) for text in ("reused", "measured"))
    for home, proxy in services:
        status, output, messages = faultwatch(home, *HISTORY, "--json", url=proxy.url)
        assert status == 0, messages
        if json.loads(output)["reused"]:
            break
    runs = {run["revision"]: run for run in proxy.ask("/runs")["items"]}  # type: ignore[attr-defined]
    assert [bool(runs[name]["reused"]) for name in (taken, last)] == [True, False]
