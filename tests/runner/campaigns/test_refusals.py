"""What the service refuses, stumbles over or never gets ends a campaign with a reason; never silent, never endless."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.commands import Proxy, faultwatch, git, make_history, served

pytestmark = pytest.mark.perf
TOO_LARGE = (413, "<html><body><h1>413 Request Entity Too Large</h1></body></html>")


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[Proxy]:
    with served(tmp_path / "service") as made:
        yield made


def refuse_runs(method: str, path: str, _: bytes) -> tuple[int, str] | None:
    return TOO_LARGE if method == "PUT" and "/runs/" in path else None


def test_refused_reports_end_every_command_with_the_reason(proxy: Proxy, tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10, 10, 20, 20])
    home, proxy.fail = tmp_path / "home", refuse_runs
    status, output, _ = faultwatch(home, "history", "--repo", "repo", "repo/workload.toml", "HEAD~2..", url=proxy.url)
    assert status == 1
    assert "The service refused 3 reports" in output
    assert "413" in output

    sent = proxy.count("PUT", "/runs/")
    status, _, messages = faultwatch(
        home, "bisect", f"{commits[0]}..{commits[-1]}", "--repo", "repo", "--no-proof", url=proxy.url
    )
    assert status == 2
    assert "413" in messages
    assert "set aside" in messages
    assert proxy.count("PUT", "/runs/") == sent + 1

    # What was set aside is sent again once the proxy lets it pass; nothing was lost.
    proxy.fail = lambda *_: None
    for file in (home / "spool").glob("*.refused"):
        file.rename(file.with_suffix(".json"))
    assert faultwatch(home, "spool", "--flush", url=proxy.url)[0] == 0
    assert proxy.ask("/runs")["total"] == 4


@pytest.mark.thorough
def test_an_older_report_that_is_refused_fails_no_later_command(proxy: Proxy, tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10, 10, 20])
    home, proxy.fail = tmp_path / "home", refuse_runs
    words = ("--repo", "repo", "repo/workload.toml")
    assert faultwatch(home, "history", *words, "HEAD~2..HEAD~1", url=proxy.url)[0] == 1
    for file in (home / "spool").glob("*.refused"):
        file.rename(file.with_suffix(".json"))
    waiting = {file.stem for file in (home / "spool").glob("*.json")}
    proxy.fail = lambda method, path, _: TOO_LARGE if method == "PUT" and path.rpartition("/")[2] in waiting else None
    status, output, messages = faultwatch(home, "history", *words, "HEAD~1..HEAD", url=proxy.url)
    assert (status, "refused" in output) == (0, False), output + messages
    for file in (home / "spool").glob("*.refused"):
        file.rename(file.with_suffix(".json"))
    status, _, messages = faultwatch(home, "measure", *words, "--send", url=proxy.url)
    assert status == 0, messages


@pytest.mark.thorough
def test_a_report_that_the_service_stumbles_over_stops_no_later_command(proxy: Proxy, tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10, 10, 20])
    home, poison = tmp_path / "home", set[str]()

    def stumble(method: str, path: str, _: bytes) -> tuple[int, str] | None:
        if method == "PUT" and "/runs/" in path and not poison:
            poison.add(path)
        return (500, '{"detail": "an error"}') if path in poison else None

    proxy.fail = stumble
    words = ("history", "--repo", "repo", "repo/workload.toml", "HEAD~1..")
    assert faultwatch(home, *words, url=proxy.url)[0] == 1
    assert len(list((home / "spool").glob("*.json"))) == 1

    status, output, messages = faultwatch(
        home, "bisect", f"{commits[0]}..{commits[-1]}", "--repo", "repo", "--no-proof", url=proxy.url
    )
    assert status == 0, messages
    assert "10 at" in output or "→" in output
    assert len(list((home / "spool").glob("*.json"))) == 1


def test_an_anchor_that_is_not_in_the_clone_is_left_out(proxy: Proxy, tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10, 10])
    words = ("history", "--repo", "repo", "repo/workload.toml", "--json")
    assert faultwatch(tmp_path / "home", *words, url=proxy.url)[0] == 0
    stored = proxy.ask("/subjects/repo/revisions")["items"]
    assert [one["commit"] for one in stored if one["patch"]] == [commits[1]], "what a rewritten commit is known by"
    git(tmp_path / "repo", "commit", "--quiet", "--amend", "--message", "Rewritten")
    git(tmp_path / "repo", "reflog", "expire", "--expire=now", "--all")
    git(tmp_path / "repo", "gc", "--quiet", "--prune=now")
    git(tmp_path / "repo", "commit", "--quiet", "--allow-empty", "--message", "Next")
    # In another environment, the newest measured revision is the anchor: the commit that no longer exists.
    status, output, messages = faultwatch(
        tmp_path / "home",
        *words,
        "HEAD~1..",
        "--env",
        "GLIBC_TUNABLES=glibc.malloc.arena_max=1",
        url=proxy.url,
    )
    assert status == 0, messages
    assert "is not in this clone" in messages
    assert json.loads(output)["measured"] == 2

    # A shallow clone lacks the newest measured revision, too.
    for title in ("Further", "Latest"):
        git(tmp_path / "repo", "commit", "--quiet", "--allow-empty", "--message", title)
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{tmp_path}/repo", "shallow")
    status, output, messages = faultwatch(
        tmp_path / "home",
        *("history", "--repo", "shallow", "shallow/workload.toml", "--json", "HEAD~1.."),
        *("--env", "GLIBC_TUNABLES=glibc.malloc.arena_max=2"),
        url=proxy.url,
    )
    assert status == 0, messages
    assert "is not in this clone" in messages
    assert json.loads(output)["measured"] == 2


@pytest.mark.thorough
def test_compare_and_nightly_outlast_a_service_that_is_away(proxy: Proxy, tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10, 20])
    away: list[float] = []

    def outage(method: str, path: str, body: bytes) -> tuple[int, str] | None:
        if path.endswith(("/comparisons", "/nightly-runs/tonight")) and (away or method == "POST" or reported(body)):
            away.append(time.monotonic())
        return (503, "<html>away</html>") if away and time.monotonic() - away[0] < 3.5 else None

    def reported(body: bytes) -> bool:
        return b'"carried_out":true' in body

    proxy.fail = outage
    status, output, messages = faultwatch(
        tmp_path / "home", "compare", "HEAD~1..HEAD", "--repo", "repo", "--json", url=proxy.url
    )
    assert status == 1, messages
    (result,) = json.loads(output)
    assert result["comparison"]["verdict"] == "changed"

    away.clear()
    (tmp_path / "matrix.toml").write_text('[[workloads]]\npath = "repo/workload.toml"\n')
    status, output, messages = faultwatch(tmp_path / "home", "nightly", "--name", "tonight", "--json", url=proxy.url)
    assert (status, len(away) > 1) == (0, True), messages


@pytest.mark.thorough
def test_a_history_waits_while_the_service_judges_and_is_not_lost(proxy: Proxy, tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10, 10, 20])
    judging: dict[str, float] = {}

    def judges_first(method: str, path: str, _: bytes) -> tuple[int, str] | None:
        plans = proxy.count("POST", "/plans")
        if "/drifts?" not in path and not (path.endswith("/plans") and plans > 1):
            return None
        began = judging.setdefault(path.partition("?")[0], time.monotonic())
        return (503, '{"detail": "Many runs are being judged."}') if time.monotonic() - began < 3.5 else None

    proxy.fail = judges_first
    status, output, messages = faultwatch(
        tmp_path / "home", "history", "--repo", "repo", "repo/workload.toml", "--json", url=proxy.url
    )
    assert (status, len(judging)) == (0, 2), messages
    assert json.loads(output)["measured"] >= 3
    assert "Many runs are being judged" in messages
