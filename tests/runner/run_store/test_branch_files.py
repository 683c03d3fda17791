"""A store in a branch has a history of its own, and touches neither HEAD, nor the index, nor the work tree."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.run_store.document_names import Kind
from runner.run_store.store import RunStore, open_store
from runner.subject.repository import Repository
from tests.runner.commands import git as git_in
from tests.runner.sample_reports import report

Git = Callable[..., str]


@pytest.fixture(autouse=True)
def _project(commit: Callable[..., str], tmp_path: Path) -> None:
    commit("The project", main__c="int main(void) { return 0; }")
    (tmp_path / "subject" / "main.c").write_text("/* not committed */")


def opened(folder: Path, branch: str = "data", warnings: list[str] | None = None) -> RunStore:
    warn = (warnings if warnings is not None else []).append
    return open_store(f"branch:{branch}", Repository(folder, "subject"), warn, may_be_new=True)


def add(folder: Path, *numbers: int) -> None:
    store = opened(folder)
    for number in numbers:
        store.add_report(report(number))
    store.finish()


def read_runs(folder: Path) -> list[int]:
    contents = (content for _, content in opened(folder).read(Kind.REPORTS))
    return sorted(int(json.loads(content)["run_id"].replace("-", ""), 16) for content in contents)


def test_the_work_tree_the_index_and_head_stay_as_they_were(tmp_path: Path, git: Git) -> None:
    def state() -> tuple[str, ...]:
        return (
            git("status", "--porcelain"),
            git("rev-parse", "HEAD"),
            git("symbolic-ref", "HEAD"),
            git("ls-files", "-s"),
        )

    before = state()
    add(tmp_path / "subject", 1, 2)
    assert state() == before
    assert git("log", "--format=%s", "data") == "Store 2 runs"
    assert git("ls-tree", "--name-only", "data").split() == ["faultwatch-store.json", "reports"]


def test_runs_that_come_at_once_are_one_commit(tmp_path: Path, git: Git) -> None:
    add(tmp_path / "subject", 1, 2)
    add(tmp_path / "subject", 1, 2)
    add(tmp_path / "subject", 2, 3)
    assert git("log", "--format=%s", "data").splitlines() == ["Store 1 run", "Store 2 runs"]


def test_what_another_clone_has_pushed_is_merged_once_it_is_fetched(tmp_path: Path, git: Git) -> None:
    here, there = tmp_path / "subject", tmp_path / "clone"
    git_in(tmp_path, "clone", "--quiet", str(here), str(there))
    add(here, 1)
    add(there, 2)
    git_in(there, "fetch", "--quiet")
    assert read_runs(there) == [1, 2], "what was fetched is read at once"
    add(there)
    assert read_runs(there) == [1, 2]
    git_in(there, "push", "--quiet", "origin", "data")
    assert read_runs(here) == [1, 2], "the push is a fast-forward"
    assert git("log", "--format=%s", "--merges", "data") == "Store 0 runs"


def test_a_clone_reads_a_branch_that_it_only_fetched(tmp_path: Path) -> None:
    add(tmp_path / "subject", 1)
    git_in(tmp_path, "clone", "--quiet", "subject", "clone")
    assert read_runs(tmp_path / "clone") == [1]
    add(tmp_path / "clone", 1)
    tips = git_in(tmp_path / "clone", "rev-parse", "data", "origin/data").split()
    assert tips[0] == tips[1], "nothing new: nothing is committed, and a push changes nothing"
    add(tmp_path / "clone", 2)
    assert read_runs(tmp_path / "clone") == [1, 2]


@pytest.mark.parametrize("name", ["-delete", "--output=x", "a b", "a..b", "", "@{-1}", "x\ny", "../x"])
def test_what_is_no_name_of_a_branch_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(FaultwatchError, match="is not a valid branch name"):
        opened(tmp_path / "subject", name)


def test_the_branch_of_the_project_is_refused(tmp_path: Path, git: Git) -> None:
    with pytest.raises(FaultwatchError, match="is checked out in"):
        opened(tmp_path / "subject", "main")
    git("branch", "other")
    with pytest.raises(FaultwatchError, match="the branch other is not a run store"):
        opened(tmp_path / "subject", "other")


def test_a_damaged_marker_is_told(tmp_path: Path, git: Git) -> None:
    add(tmp_path / "subject", 1)
    git("stash", "--quiet")
    git("checkout", "--quiet", "data")
    (tmp_path / "subject" / "faultwatch-store.json").write_bytes(b'{"version": "\xff"}')
    git("commit", "--quiet", "--all", "--message", "Damage")
    git("checkout", "--quiet", "main")
    with pytest.raises(FaultwatchError, match=r"the branch data: faultwatch-store\.json is damaged"):
        opened(tmp_path / "subject")


def test_files_that_no_store_writes_are_not_merged(tmp_path: Path, git: Git) -> None:
    add(tmp_path / "subject", 1)
    git_in(tmp_path, "clone", "--quiet", "subject", "clone")
    add(tmp_path / "clone", 2)
    git("stash", "--quiet")
    git("checkout", "--quiet", "data")
    (tmp_path / "subject" / "reports\nM 100644 inline x").write_text("hostile")
    git("add", ".")
    git("commit", "--quiet", "--message", "More")
    git_in(tmp_path / "clone", "fetch", "--quiet")
    add(tmp_path / "clone", 3)
    assert read_runs(tmp_path / "clone") == [1, 2, 3]
    assert "hostile" not in git_in(tmp_path / "clone", "grep", "-c", "", "data")
    assert git_in(tmp_path / "clone", "ls-tree", "--name-only", "data").split() == ["faultwatch-store.json", "reports"]


def test_a_place_without_a_repository_has_no_branch() -> None:
    with pytest.raises(FaultwatchError, match="is not in a git repository"):
        open_store("branch:data", None, print, may_be_new=True)
