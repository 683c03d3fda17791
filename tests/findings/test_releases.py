"""Each release is one commit, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from findings import releases, repository


def test_tags_become_a_chain(commit: Callable[..., str], git: Callable[..., str], tmp_path: Path) -> None:
    commit("Begin", file="1\n")
    git("tag", "v1")
    commit("Go on", file="between\n")
    commit("Finish", file="2\n")
    git("tag", "v2")
    subject = tmp_path / "subject"
    releases.chain(subject, ("v1", "v2"))
    assert repository.git(subject, "log", "--format=%s", "release/v2").split() == ["v2", "v1"]
    assert repository.git(subject, "rev-list", "--count", releases.span_of(("v1", "v2"))).strip() == "1"
    assert repository.git(subject, "show", "release/v2:file") == "2\n"
    commits = repository.git(subject, "rev-list", "release/v2")
    releases.chain(subject, ("v1", "v2"))
    assert repository.git(subject, "rev-list", "release/v2") == commits


def test_packages_are_fetched_once_and_give_the_same_commits_everywhere(tmp_path: Path) -> None:
    script = tmp_path / "release.sh"
    script.write_text("echo $1 >version; echo version >.gitignore; test $1 = 1 && echo old >old || true\n")
    for name in ("here", "there"):
        releases.pack(script, tmp_path / name, ("1", "2"))
    here, there = (repository.git(tmp_path / name, "rev-list", "release/2") for name in ("here", "there"))
    assert here == there
    files = repository.git(tmp_path / "here", "ls-tree", "--name-only", "release/2").split()
    assert files == [".gitignore", "version"]
    assert not repository.git(tmp_path / "here", "status", "--porcelain")
    script.write_text("exit 1\n")
    releases.pack(script, tmp_path / "here", ("1", "2"))
    assert repository.git(tmp_path / "here", "rev-list", "release/2") == here
