"""Each session begins with the tree as it was built, whatever programs made of it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.contract.report import Build
from runner.subject.build_record import DamagedBuild, write_record
from runner.subject.session_tree_restorer import (
    COPY_FOLDER,
    TREE_FOLDER,
    keep_copy,
    overlay_files,
    restore_original_tree,
    restore_tree,
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kept tree with a program, a folder, links and a file with holes."""
    made = tmp_path / "place" / TREE_FOLDER
    (made / "folder").mkdir(parents=True)
    (made / "program").write_text("#!/bin/sh\n")
    (made / "program").chmod(0o755)
    (made / "folder" / "data").write_text("data")
    (made / "link").symlink_to("folder/data")
    os.link(made / "program", made / "same")
    with (made / "sparse").open("wb") as stream:
        stream.truncate(1 << 32)
    write_record(made.parent, keep_copy(made.parent, Build(), "result"))
    return made


def content(tree: Path) -> dict[str, tuple[int, str]]:
    found = {}
    for path in sorted(tree.rglob("*")):
        state = path.lstat()
        text = str(path.readlink()) if path.is_symlink() else ""
        if path.is_file() and state.st_size < 1000:
            text += path.read_text()
        found[str(path.relative_to(tree))] = (state.st_mode, text)
    return found


def read_only_folder(tree: Path) -> None:
    (tree / "deep" / "er").mkdir(parents=True)
    (tree / "deep" / "er" / "file").touch()
    (tree / "deep" / "er").chmod(0)
    (tree / "deep").chmod(0o500)


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file more": lambda tree: (tree / "folder" / "new").touch(),
    "a file less": lambda tree: (tree / "folder" / "data").unlink(),
    "other content": lambda tree: (tree / "program").write_text("other"),
    "another mode": lambda tree: (tree / "program").chmod(0o700),
    "a link elsewhere": lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("/etc/passwd")),
    "a folder for a file": lambda tree: ((tree / "program").unlink(), (tree / "program").mkdir()),
    "no tree": shutil.rmtree,
    "a link for the tree": lambda tree: (shutil.rmtree(tree), tree.symlink_to("/etc")),
    "a file for the tree": lambda tree: (shutil.rmtree(tree), tree.touch()),
    "folders that must not be changed": read_only_folder,
    "a tree that must not be entered": lambda tree: tree.chmod(0),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_tree_is_put_back(change: str, tree: Path) -> None:
    before = content(tree)
    CHANGES[change](tree)
    restore_tree(tree)
    assert content(tree) == before
    assert (tree / "program").samefile(tree / "same")
    assert (tree / "sparse").stat().st_blocks == 0
    # And it counts as unchanged from now on: the files are prepared once.
    inode = (tree / "program").stat().st_ino
    restore_tree(tree)
    assert (tree / "program").stat().st_ino == inode


def test_an_unchanged_tree_and_a_new_result_stay(tree: Path) -> None:
    inode = (tree / "program").stat().st_ino
    (tree / "result").write_text("1")
    restore_tree(tree)
    assert (tree / "program").stat().st_ino == inode
    assert (tree / "result").exists()


def test_content_that_is_hidden_behind_the_old_times_is_seen(tree: Path) -> None:
    data = tree / "folder" / "data"
    state = data.stat()
    data.write_text("evil")
    os.utime(data, ns=(state.st_atime_ns, state.st_mtime_ns))
    restore_tree(tree)
    assert data.read_text() == "data"


def test_the_copy_is_in_reach_of_the_runner_only(tree: Path) -> None:
    assert (tree.parent / "built").stat().st_mode & 0o777 == 0o700


def test_a_tree_of_no_cache_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / TREE_FOLDER).mkdir()
    (tmp_path / TREE_FOLDER / "file").touch()
    restore_tree(tmp_path / TREE_FOLDER)
    assert (tmp_path / TREE_FOLDER / "file").exists()


def test_a_copy_that_lost_content_in_a_power_cut_is_not_used(tree: Path) -> None:
    (tree / "folder" / "data").write_text("")
    (tree.parent / COPY_FOLDER / TREE_FOLDER / "folder" / "data").write_text("")
    with pytest.raises(DamagedBuild, match="the saved copy of the build tree is damaged"):
        restore_tree(tree)


@pytest.fixture
def later(tree: Path) -> Path:
    """A checkout of a later commit, in which one file of the tree differs."""
    checkout = tree.parent / "checkout"
    (checkout / "folder").mkdir(parents=True)
    (checkout / "folder" / "data").write_text("later")
    return checkout


def test_sessions_use_the_files_of_a_later_commit_until_one_of_the_build_itself(tree: Path, later: Path) -> None:
    before = content(tree)
    overlay_files(tree, later, ["folder/data"], "later")
    assert content(tree)["folder/data"] == (before["folder/data"][0], "later")
    (tree / "program").write_text("other")
    (tree / "folder" / "data").write_text("other")
    restore_tree(tree)
    assert (tree / "folder" / "data").read_text() == "later"
    restore_original_tree(tree)
    assert content(tree) == before
    assert (tree / "program").samefile(tree / "same")


def test_the_files_of_a_later_commit_replace_those_of_another(tree: Path, later: Path) -> None:
    before = content(tree)
    overlay_files(tree, later, ["folder/data"], "later")
    (later / "program").write_text("latest")
    overlay_files(tree, later, ["program"], "latest")
    assert (tree / "folder" / "data").read_text() == "data"
    assert (tree / "program").read_text() == "latest"
    restore_original_tree(tree)
    assert content(tree) == before


def test_files_of_a_later_commit_that_a_power_cut_damaged_are_not_used(tree: Path, later: Path) -> None:
    overlay_files(tree, later, ["folder/data"], "later")
    (tree.parent / "later" / "folder" / "data").write_text("")
    (tree / "folder" / "data").write_text("")
    with pytest.raises(DamagedBuild, match="the files of a later commit are damaged"):
        restore_tree(tree)
    restore_original_tree(tree)
    assert (tree / "folder" / "data").read_text() == "data"


@pytest.mark.parametrize("name", ["./report.json", "folder/../report.json"])
def test_a_result_file_may_be_named_in_any_way(name: str, tmp_path: Path) -> None:
    tree = tmp_path / TREE_FOLDER
    (tree / "folder").mkdir(parents=True)
    write_record(tree.parent, keep_copy(tree.parent, Build(), name))
    (tree / "report.json").write_text("{}")
    restore_tree(tree)
    assert (tree / "report.json").exists(), "the whole tree is copied for nothing"
