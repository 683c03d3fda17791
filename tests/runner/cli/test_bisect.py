"""``faultwatch bisect``: real builds, real counts, a real service."""

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.cli.bisect import describe_result
from runner.contract.commit_search import Culprit, Found, Proof, ProofState, Search
from runner.contract.report import Revision
from tests.runner import commands

ROOT = Path(__file__).parents[3]


def bisect(home: Path, commit_range: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "runner", "bisect", "repo", commit_range, "--repo", "repo", "--json"],
        cwd=home,
        env=os.environ | {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.perf
@pytest.mark.thorough
def test_two_culprits_are_found_although_the_search_is_killed_on_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barrier = tmp_path / "barrier"
    run = f"while grep -q 'i < 31' pages.c && test -e {barrier}; do sleep 0.05; done; exec ./pages"
    workload = commands.WORKLOAD.replace('["./pages"]', json.dumps(["sh", "-c", run]))
    commands.make_history(tmp_path / "repo", [10, 30, 30, 31], workload)
    barrier.touch()
    with commands.compiled_programs(tmp_path / "data"), bisect(tmp_path, "HEAD~3..HEAD") as killed:
        assert killed.stderr
        assert "to go" in killed.stderr.readline(), "the first end is measured"
        killed.kill()
    barrier.unlink()

    # The commands that follow need no service of their own.
    with commands.served(tmp_path / "data") as service:
        monkeypatch.setenv("FAULTWATCH_URL", service.service)
        with bisect(tmp_path, "HEAD~3..HEAD") as again:
            out, said = again.communicate(timeout=120)
        assert again.returncode == 0, said
        measured = re.findall(r"^[0-9a-f]{10}  [0-9,]+ faults", said, re.MULTILINE)
        assert len(measured) == 3, "what was measured before is not measured again"
        found = json.loads(out)
        assert (found["commits"], found["stored_runs"]) == (3, 8), (
            "four commits, and both culprits interleaved with their parents"
        )
        assert [one["proof"]["state"] for one in found["answer"]["culprits"]] == ["stands", "stands"]
        twenty, single = found["answer"]["culprits"]
        assert twenty["after"] - twenty["before"] == 20
        assert single["after"] - single["before"] == 1

        with bisect(tmp_path, "HEAD~2..HEAD~1") as same:
            out, said = same.communicate(timeout=120)
        assert same.returncode == 1, said
        assert "to go" not in said
        assert "The two ends of the range do not differ" in json.loads(out)["answer"]["sentence"]


@pytest.mark.perf
def test_a_search_that_is_stopped_says_that_it_has_no_result(tmp_path: Path) -> None:
    commands.make_history(tmp_path / "repo", [10, 20])
    with commands.served(tmp_path / "served") as proxy:

        def cancel(method: str, path: str, body: bytes) -> None:
            if path.endswith("/progress") and not proxy.count("POST", "/progress$") > 1:
                proxy.ask("/jobs/1/cancel", {"author": "Ada", "reason": "the host is needed"})

        proxy.fail = cancel
        words = ("bisect", "repo", "HEAD~1..HEAD", "--repo", "repo", "--json", "--output", "found.json")
        status, output, messages = commands.faultwatch(tmp_path / "home", *words, url=proxy.url)
        assert proxy.ask("/jobs/1")["state"] == "cancelled"
    assert (status, output) == (2, ""), messages
    assert "the host is needed" in messages
    assert "the search has no result yet, because job 1 was stopped\n  → run the same command again" in messages
    assert not (tmp_path / "found.json").exists()


def described(state: ProofState | None, branch_change: int = 0) -> list[str]:
    commit, parent = "c" * 40, "b" * 40
    proof = state and Proof(state=state, sentence="In 5 of 5.", parent_run=uuid.uuid4(), run=uuid.uuid4())
    culprit = Culprit(
        commit=commit,
        parent=parent,
        before=2662,
        after=2713.25,
        candidates=(commit,),
        branch_change=branch_change,
        proof=proof,
    )
    revision = Revision.model_construct(commit=commit, title="Note")
    search = Search(commits=3, stored_runs=3, answer=Found(culprits=(culprit,)))
    return describe_result(search, {commit: revision}, "minor-faults", lambda commit_range: f"compare {commit_range}")


def test_only_a_commit_whose_proof_stands_is_shown_without_doubt() -> None:
    assert described(ProofState.STANDS)[0] == "cccccccccc 'Note'"
    for state in (ProofState.OPEN, ProofState.FAILS, None):
        assert described(state)[0] == "suspect, not proven: cccccccccc 'Note'"


def test_the_proof_that_is_suggested_works_where_the_search_was_typed() -> None:
    assert described(None)[2] == "  to prove this change: compare bbbbbbbbbb..cccccccccc"


def test_the_levels_of_a_culprit_are_written_as_everywhere() -> None:
    assert described(None)[1] == "  minor-faults: 2,662 faults at bbbbbbbbbb → 2,713 faults at cccccccccc"


def test_a_merge_says_what_its_branches_moved() -> None:
    lines = described(ProofState.STANDS, branch_change=-21_931)
    assert lines[2] == "  the merged commits moved the metric by −21,931 on their own branch"


@pytest.mark.parametrize(
    ("commit_range", "said"), [("HEAD", "is not a commit range"), ("HEAD..HEAD~1", "has no commits")]
)
def test_a_mistake_is_one_clear_line(commit_range: str, said: str, tmp_path: Path) -> None:
    commands.make_history(tmp_path / "repo", [10, 20])
    with bisect(tmp_path, commit_range) as wrong:
        out, told = wrong.communicate(timeout=60)
    assert (wrong.returncode, out) == (2, "")
    assert said in told
    assert "Traceback" not in told


PROGRAM = """
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 10; i++) {
        char *volatile block = malloc(1 << 20);
        memset(block, 1, 1 << 20);
        free(block);
    }
}
"""
WORKLOAD = """
[workload]
name = "blocks"
[build]
command = "cc -O0 -o blocks blocks.c"
[run]
command = ["./blocks"]
huge_pages = "never"
"""
SETTINGS = (
    "variable.COLOUR=red..blue",
    "variable.MALLOC_ARENA_MAX=..2",
    "variable.MALLOC_MMAP_THRESHOLD_=131072..1073741824",
    "variable.MALLOC_TRIM_THRESHOLD_=131072..1073741824",
    "variable.TZ=..UTC",
    "build.COLOUR=..blue",
)


@pytest.fixture
def blocks(tmp_path: Path, service_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A program that allocates a block of a megabyte ten times, in a repository of one commit; and a service."""
    monkeypatch.setenv("FAULTWATCH_URL", service_url)
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "blocks.c").write_text(PROGRAM, encoding="utf-8")
    (folder / "workload.toml").write_text(WORKLOAD, encoding="utf-8")
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@localhost")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "Allocate blocks")):
        subprocess.run([*git, *arguments], check=True)
    with commands.compiled_programs(tmp_path / "data"):
        yield tmp_path


def search_settings(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "runner", "bisect", "--repo", "repo", *arguments],
        cwd=home,
        env=os.environ | {"FAULTWATCH_HOME": str(home / "data"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.perf
def test_two_settings_that_are_guilty_together_are_found_among_innocent_ones(blocks: Path) -> None:
    """Only where blocks come from the heap, and the heap is not trimmed, is memory touched once and not ten times."""
    changes = [part for setting in SETTINGS for part in ("--change", setting)]
    found = search_settings(blocks, *changes, "--json")
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)["answer"]
    assert answer["settings"] == ["variable.MALLOC_MMAP_THRESHOLD_", "variable.MALLOC_TRIM_THRESHOLD_"]
    assert 9 * 256 <= answer["before"] - answer["after"] <= 9 * 256 + 40
    # A heap that is trimmed keeps 128 KiB at its top.
    assert all(value - answer["after"] >= 9 * (256 - 34) for value in answer["values_without"].values())
    taken = found.stderr.count("changed")
    assert taken <= 20

    again = search_settings(blocks, *changes)
    assert "MALLOC_TRIM_THRESHOLD_: 131072 → 1073741824; without it" in again.stdout
    assert "changed" not in again.stderr, "what was measured before is not measured again"


@pytest.mark.perf
def test_what_only_the_administrator_can_set_is_named_and_not_searched(blocks: Path) -> None:
    for name, settings in (("a", {"vm.swappiness": "60"}), ("b", {"vm.swappiness": "10", "variable.COLOUR": "blue"})):
        (blocks / name).write_text(json.dumps({"settings": settings}), encoding="utf-8")
    found = search_settings(blocks, "--settings", "a..b")
    assert found.returncode == 1
    assert "The metric does not differ between the two environments" in found.stdout
    assert "because a single run cannot change them: vm.swappiness (60 → 10)" in found.stdout
