"""An execution finds the tree as it was built, whatever the one before it has made of it."""

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.contract.report import Build
from runner.errors import FaultwatchError
from runner.subject import tree_changes
from runner.subject.build_record import DamagedBuild, write_record
from runner.subject.execution_tree_restorer import TreeRestorer
from runner.subject.kept_files import KeepRules
from runner.subject.session_tree_restorer import COPY_FOLDER, TREE_FOLDER, keep_copy, overlay_files

Listing = dict[str, tuple[int, int, str]]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "place" / TREE_FOLDER
    (made / "folder" / "deep").mkdir(parents=True)
    (made / "empty").mkdir()
    (made / "program").write_text("#!/bin/sh\n")
    (made / "program").chmod(0o755)
    (made / "folder" / "data").write_text("data")
    (made / "folder" / "deep" / "data").write_text("deep data")
    (made / "folder" / "deep" / "same").hardlink_to(made / "folder" / "deep" / "data")
    (made / "two\nlines").write_text("text")
    (made / "link").symlink_to("folder/data")
    os.mkfifo(made / "pipe")
    for path in (*made.rglob("*"), made):
        os.utime(path, ns=(10**18, 10**18), follow_symlinks=False)
    write_record(made.parent, keep_copy(made.parent, Build(), "result"))
    return made


def list_tree(tree: Path) -> Listing:
    listing = {}
    for path in (tree, *tree.rglob("*")):
        state = path.lstat()
        text = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
        listing[str(path.relative_to(tree))] = (state.st_mode, state.st_mtime_ns, text)
    return listing


def make_restorer(tree: Path, *patterns: str) -> TreeRestorer:
    restorer = TreeRestorer(tree, KeepRules(patterns, "result"))
    restorer.begin_session()
    assert restorer.restore() == []
    return restorer


def leave_hostile_files(tree: Path) -> None:
    secret = tree.parent.parent / "secret"
    secret.mkdir(exist_ok=True)
    (secret / "file").write_text("secret")
    shutil.rmtree(tree / "folder")
    (tree / "folder").symlink_to(secret)
    (tree / "out").symlink_to("/etc")
    os.mkfifo(tree / "new\npipe")
    (tree / os.fsdecode(b"\xff\xfe")).touch()
    (tree / "locked").mkdir()
    (tree / "locked" / "file").touch()
    (tree / "locked").chmod(0)
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tree)  # a path of a socket is short
        listener.bind("socket")
        os.chdir(here)


def nest_deeply(tree: Path) -> None:
    here = Path.cwd()
    os.chdir(tree)
    for _ in range(3000):
        Path("d" * 50).mkdir()
        os.chdir("d" * 50)
    os.chdir(here)


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": lambda tree: (tree / "folder" / "dump.rdb").touch(),
    "a new folder": lambda tree: shutil.copytree(tree / "folder", tree / "cache"),
    "other content": lambda tree: (tree / "folder" / "data").write_text("more data"),
    "a line more": lambda tree: (tree / "two\nlines").write_text("text and more"),
    "a removed file": lambda tree: (tree / "folder" / "data").unlink(),
    "a renamed file": lambda tree: (tree / "folder" / "data").rename(tree / "data.gz"),
    "a removed folder": lambda tree: shutil.rmtree(tree / "folder"),
    "an empty folder": lambda tree: (tree / "empty").rmdir(),
    "another mode": lambda tree: (tree / "folder" / "data").chmod(0o600),
    "a folder that cannot be entered": lambda tree: (tree / "folder").chmod(0),
    "a folder that was changed and locked": lambda tree: (
        (tree / "folder" / "data").write_text("more"),
        (tree / "folder").chmod(0o500),
    ),
    "a link elsewhere": lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("/etc/passwd")),
    "a folder for a file": lambda tree: ((tree / "folder" / "data").unlink(), (tree / "folder" / "data").mkdir()),
    "a file for a folder": lambda tree: (shutil.rmtree(tree / "folder"), (tree / "folder").touch()),
    "no pipe": lambda tree: (tree / "pipe").unlink(),
    "all at once": leave_hostile_files,
    "folders deeper than a path": nest_deeply,
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_execution_finds_the_built_tree(change: str, tree: Path) -> None:
    before, program = list_tree(tree), (tree / "program").stat()
    restorer = make_restorer(tree)
    for _ in range(3):
        CHANGES[change](tree)
        restorer.restore()
        assert list_tree(tree) == before
    assert restorer.describe().startswith("an execution ")
    after = (tree / "program").stat()
    assert (after.st_ino, after.st_ctime_ns) == (program.st_ino, program.st_ctime_ns), "it stays prepared"
    secret = tree.parent.parent / "secret" / "file"
    assert not secret.exists() or secret.read_text() == "secret"


def test_links_among_files_that_are_put_back_stay(tree: Path) -> None:
    restorer = make_restorer(tree)
    with (tree / "folder" / "deep" / "data").open("a") as stream:
        stream.write("more")
    assert len(restorer.restore()) == 2
    assert (tree / "folder" / "deep" / "data").samefile(tree / "folder" / "deep" / "same")


def test_a_program_that_changes_nothing_costs_one_look(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restorer = make_restorer(tree)
    (tree / "result").touch()
    assert restorer.restore() == []
    monkeypatch.setattr("runner.subject.execution_tree_restorer.find_kept_copy", None)
    monkeypatch.setattr("runner.subject.execution_tree_restorer.find_changes", None)
    for _ in range(3):
        assert restorer.restore() == []
    assert restorer.describe() == ""


def test_what_python_leaves_stays(tree: Path) -> None:
    restorer = make_restorer(tree)
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "module.pyc").touch()
    for _ in range(3):
        assert restorer.restore() == []
    assert restorer.describe() == ""
    assert (tree / "__pycache__" / "module.pyc").exists()


def test_what_is_to_be_kept_stays(tree: Path) -> None:
    restorer = make_restorer(tree, "dump.rdb", "cache/*.db")
    (tree / "cache").mkdir()
    for name in ("dump.rdb", "cache/a.db", "cache/log", "other"):
        (tree / name).touch()
    restorer.restore()
    assert sorted(path.name for path in tree.rglob("*") if path.stat().st_size == 0) == ["a.db", "dump.rdb", "pipe"]
    everything = make_restorer(tree, "*")
    (tree / "other").touch()
    assert everything.restore() == []
    assert (tree / "other").exists()
    assert everything.describe() == ""


def test_a_tree_outside_of_the_cache_is_left_alone(tmp_path: Path) -> None:
    restorer = make_restorer(tmp_path)
    (tmp_path / "left").touch()
    assert restorer.restore() == []
    assert (tmp_path / "left").exists()
    assert restorer.describe() == ""


def test_a_tree_whose_record_is_not_written_yet_is_put_back(tree: Path) -> None:
    (tree.parent / "build.json").unlink()
    restorer = make_restorer(tree)
    (tree / "left").touch()
    restorer.restore()
    assert not (tree / "left").exists()


def test_files_of_a_later_commit_are_put_back_as_that_commit_has_them(tree: Path, tmp_path: Path) -> None:
    later = tmp_path / "place" / "checkout"
    (later / "folder").mkdir(parents=True)
    (later / "folder" / "data").write_text("later data")
    overlay_files(tree, later, ["folder/data"], "b" * 40)
    before = list_tree(tree).keys()
    restorer = make_restorer(tree)
    assert restorer.restore() == []
    restorer = make_restorer(tree)
    shutil.rmtree(tree / "folder")
    restorer.restore()
    assert list_tree(tree).keys() == before
    assert (tree / "folder" / "data").read_text() == "later data"


def test_a_damaged_copy_is_not_used(tree: Path) -> None:
    restorer = make_restorer(tree)
    (tree.parent / COPY_FOLDER / TREE_FOLDER / "folder" / "data").write_text("damage")
    (tree / "folder" / "data").unlink()
    with pytest.raises(DamagedBuild):
        restorer.restore()


def test_too_many_files_stay_and_the_report_says_so(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restorer = make_restorer(tree)
    for number in range(20):
        (tree / str(number)).touch()
    restorer._read_states_if_changed()
    monkeypatch.setattr(tree_changes, "MAX_ENTRIES", 15)
    assert restorer.restore() == []
    assert "too many files or too deeply nested folders" in restorer.describe()


def test_what_cannot_be_removed_is_an_error(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restorer = make_restorer(tree)
    (tree / "new").mkdir()
    monkeypatch.setattr("runner.subject.execution_tree_restorer.remove_tree", lambda folder: None)
    with pytest.raises(FaultwatchError, match="cannot be removed"):
        restorer.restore()


def test_folders_in_folders_that_cannot_be_entered_are_restored(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    restorer, before = make_restorer(tree), list_tree(tree)
    (tree / "folder" / "deep" / "data").write_text("another text")
    for path in ("folder/deep", "folder"):
        (tree / path).chmod(0)
    scan = os.scandir

    def scan_as_ordinary_user(folder: Path | str) -> Any:
        if not Path(folder).stat().st_mode & 0o400:
            raise PermissionError(folder)
        return scan(folder)

    monkeypatch.setattr(os, "scandir", scan_as_ordinary_user)
    restorer.restore()
    monkeypatch.undo()
    assert list_tree(tree) == before
