"""The git repository that a build with ``git = true`` finds."""

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.subject.build import Builder
from runner.subject.build_folders import BuildFolders
from runner.subject.checkout_content import write_commit
from runner.subject.repository import open_repository
from runner.subject.version_repository import hash_visible_tags, write_git_directory
from runner.workload import Workload

Run = Callable[..., str]


@pytest.fixture
def checkout(commit: Run, git: Run, tmp_path: Path) -> Path:
    commit("Secret", secret="never to be seen", source="0")
    commit("One", source="1", secret="")
    git("tag", "--annotate", "--message", "First", "v1.0")
    commit("Two", source="2")
    head = commit("Three", source="3")
    git("tag", "v0.1", "HEAD~3")
    commit("Later", source="4")
    git("tag", "v2.0")
    git("checkout", "--quiet", "-b", "other", "HEAD~1")
    commit("Aside", source="5")
    git("tag", "aside")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    write_commit(repository, head, tmp_path / "tree", refuse_large=True)
    write_git_directory(repository, head, tmp_path / "tree")
    return tmp_path / "tree"


def run(tree: Path, *words: str) -> str:
    """Run git as a script of the project would."""
    command = ["git", "-C", str(tree), "-c", "safe.directory=*", *words]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": "/"}
    )
    return done.stdout.strip()


def test_a_version_script_finds_the_last_tag_and_a_clean_tree(checkout: Path) -> None:
    assert run(checkout, "describe", "--tags", "--long", "--dirty").startswith("v1.0-2-g")
    assert run(checkout, "status", "--porcelain") == ""
    assert run(checkout, "diff-index", "HEAD") == "", "without a refresh too"
    assert run(checkout, "tag").split() == ["v0.1", "v1.0"], "none of later commits or other branches"
    assert run(checkout, "rev-list", "--count", "HEAD") == "4"
    assert "source" in run(checkout, "ls-files")
    assert run(checkout, "show", "HEAD:source") == "3"
    (checkout / "source").write_text("changed")
    assert run(checkout, "describe", "--tags", "--dirty").endswith("-dirty")


@pytest.mark.parametrize("is_merge", [False, True])
def test_a_version_script_can_show_the_commit(commit: Run, git: Run, tmp_path: Path, is_merge: bool) -> None:
    """As versioneer does for the date of a version."""
    for folder in ("folder", "other/deep"):
        (tmp_path / "subject" / folder).mkdir(parents=True)
    commit("One", **{"folder/file": "1", "other/deep/file": "1"})
    head = commit("Two", **{"folder/file": "2"})
    if is_merge:
        git("checkout", "--quiet", "-b", "side", "HEAD~1")
        commit("Aside", **{"other/deep/file": "2"})
        git("merge", "--quiet", "--no-edit", head)
        head = git("rev-parse", "HEAD").strip()
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    write_commit(repository, head, tmp_path / "tree", refuse_large=True)
    write_git_directory(repository, head, tmp_path / "tree")
    assert run(tmp_path / "tree", "show", "-s", "--format=%H", "HEAD") == head
    assert run(tmp_path / "tree", "show", "-s", "--format=%H") == head


def test_it_leads_nowhere_and_holds_no_file_of_other_commits(checkout: Path, tmp_path: Path) -> None:
    inside = checkout / ".git"
    assert not (inside / "objects" / "info" / "alternates").exists()
    assert not (inside / "hooks").exists()
    assert str(tmp_path / "subject") not in (inside / "config").read_text()
    assert run(checkout, "remote") == ""
    objects = run(checkout, "cat-file", "--batch-check", "--batch-all-objects").splitlines()
    blobs = [run(checkout, "cat-file", "blob", line.split()[0]) for line in objects if " blob " in line]
    assert "3" in blobs
    assert not {"0", "1", "2", "4", "5", "never to be seen"} & set(blobs)


def test_a_build_gets_it_only_on_request_and_is_made_again_after_a_new_tag(
    commit: Run, git: Run, tmp_path: Path
) -> None:
    head = commit("One", source="1")
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    builder = Builder(BuildFolders(tmp_path / "builds"), {})
    build = {"command": "sh -c 'git describe --tags --always >version'", "git": True}
    recipe = Workload.model_validate({"workload": {"name": "w"}, "build": build, "run": {"command": "./x"}})
    tree, _ = builder.build(repository, head, recipe)
    assert (tree / "version").read_text() == f"{head[:7]}\n"
    assert builder.build(repository, head, recipe)[1].cached
    before = hash_visible_tags(repository, head)
    git("tag", "v1")
    assert hash_visible_tags(repository, head) != before
    tree, built = builder.build(repository, head, recipe)
    assert (tree / "version").read_text() == "v1\n"
    assert not built.cached


def test_a_project_with_more_tags_than_fit_into_a_command_line_builds(commit: Run, git: Run, tmp_path: Path) -> None:
    head = commit("One", source="1")
    names = [f"refs/tags/nightly-{number:05}" for number in range(6_000)]
    (tmp_path / "subject" / ".git" / "packed-refs").write_text("".join(f"{head} {name}\n" for name in names))
    repository = open_repository(str(tmp_path / "subject"), tmp_path)
    write_commit(repository, head, tmp_path / "tree", refuse_large=True)
    # The kernel allows a quarter of this for a command line.
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, hard_limit))
    try:
        write_git_directory(repository, head, tmp_path / "tree")
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, (soft_limit, hard_limit))
    assert run(tmp_path / "tree", "for-each-ref", "--format=%(refname)").split()[-6_000:] == names
