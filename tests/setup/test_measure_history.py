"""On GitHub's machines, a push measures what it has brought, and the commit before it."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
Git = Callable[..., str]


@pytest.fixture
def range_of(tmp_path: Path) -> Callable[[str], str]:
    """Return what the script measures if the push began after some commit."""
    command = tmp_path / "faultwatch"
    command.write_text('#!/bin/sh\necho "$@"\n')
    command.chmod(0o755)

    def run(before: str) -> str:
        script = ROOT / "setup" / "hosted" / "measure-history"
        words = [script, command, tmp_path / "subject", "w.toml", "branch:data", before]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]})
        start = f"history --repo {tmp_path / 'subject'} --store branch:data -- w.toml"
        assert done.stdout.startswith(start)
        return done.stdout.removeprefix(start).strip()

    return run


def test_the_commits_of_the_push_are_measured(range_of: Callable[[str], str], commit: Callable[..., str]) -> None:
    first, second = commit("one"), commit("two")
    assert range_of(first) == f"{first}..HEAD"
    assert range_of(second) == "HEAD~1..HEAD", "the job was started again, or nothing was pushed"


@pytest.mark.parametrize("before", ["0" * 40, "f" * 40, ""])
def test_a_new_branch_begins_with_its_newest_commits(
    range_of: Callable[[str], str], commit: Callable[..., str], before: str
) -> None:
    commit("first")
    assert range_of(before) == "", "few commits are the whole history"
    for number in range(20):
        commit(f"commit {number}")
    assert range_of(before) == "HEAD~20..HEAD"
