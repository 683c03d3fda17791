"""A commit that changes only files which no build reads has the same build; any other commit has not."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.subject.repository import open_repository
from runner.subject.unread_files import (
    NEVER,
    are_reads_noted,
    changed_files,
    note_unread,
    parse_changes,
    unread_files,
    unread_states,
)

MODES = st.sampled_from(["100644", "100755", "120000", "160000", "000000"])
PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "place" / "tree"
    (made / "folder").mkdir(parents=True)
    for name in ("one", "two", "folder/three"):
        (made / name).write_text(name)
        os.utime(made / name, (NEVER, (made / name).stat().st_mtime))
    (made / "link").symlink_to("one")
    return made


@pytest.mark.parametrize(
    "script",
    [
        "cat folder/three",
        "cp folder/three copy",
        "cp --archive folder/three copy",
        "ln folder/three further-name",
        "grep -r thr folder",
        "python3 -c 'import mmap; print(mmap.mmap((f := open(\"folder/three\")).fileno(), 0, prot=1)[:])'",
        "tar cf all.tar folder",
        "printf more >> folder/three",
        "mv folder/three folder/fourth",
        "rm folder/three",
    ],
)
def test_what_a_build_reads_or_changes_is_no_unread_file(script: str, tree: Path) -> None:
    if not are_reads_noted(tree.parent):
        pytest.skip("the file system does not note reads")
    checkout = unread_states(tree)
    subprocess.run(["sh", "-c", script], cwd=tree, check=True, capture_output=True)
    note_unread(tree, checkout)
    assert unread_files(tree.parent) == {"one", "two"}


def test_a_copy_with_the_old_times_is_no_file_of_the_checkout(tree: Path) -> None:
    checkout = unread_states(tree)
    subprocess.run(["sh", "-c", "cp --archive two folder/three; mv one fourth"], cwd=tree, check=True)
    note_unread(tree, checkout)
    assert unread_files(tree.parent) == frozenset()


def test_listing_and_looking_for_files_reads_none(tree: Path) -> None:
    if not are_reads_noted(tree.parent):
        pytest.skip("the file system does not note reads")
    checkout = unread_states(tree)
    subprocess.run(["sh", "-c", "ls -lR; find . -newer two; test -s one; stat link"], cwd=tree, check=True)
    note_unread(tree, checkout)
    assert unread_files(tree.parent) == {"one", "two", "folder/three"}


def test_nothing_is_unread_where_the_kernel_notes_no_reads(tree: Path) -> None:
    place = tree.parent
    mount = ["mount", "-t", "tmpfs", "-o", "noatime", "tmpfs"]
    other = place.parent / "noatime"
    other.mkdir()
    if subprocess.run([*mount, other], check=False, capture_output=True).returncode:
        pytest.skip("only root may mount")
    try:
        shutil.copytree(place, other / "place", symlinks=True, copy_function=shutil.copy2)
        assert not are_reads_noted(other / "place")
        assert unread_states(other / "place" / "tree") == {}
        note_unread(other / "place" / "tree", {})
        assert unread_files(other / "place") == frozenset()
    finally:
        subprocess.run(["umount", other], check=True)


def test_nothing_is_known_of_a_build_without_notes(tmp_path: Path) -> None:
    assert unread_files(tmp_path) == frozenset()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda repo: (repo / "README").write_text("new"), {"README"}),
        (lambda repo: None, set()),
        (lambda repo: (repo / "new").write_text("new"), None),
        (lambda repo: (repo / "README").unlink(), None),
        (lambda repo: (repo / "README").rename(repo / "README.md"), None),
        (lambda repo: (repo / "README").chmod(0o755), None),
        (lambda repo: ((repo / "README").unlink(), (repo / "README").symlink_to("source")), None),
        (lambda repo: (repo / ".gitattributes").write_text("* eol=crlf"), None),
    ],
)
def test_only_changes_of_content_are_named(
    change: Callable[[Path], object], expected: set[str] | None, commit: Callable[..., str], tmp_path: Path
) -> None:
    before = commit("First", source="1", README="old", **{".gitattributes": "* -text"})
    change(tmp_path / "subject")
    after = commit("Second")
    assert changed_files(open_repository(str(tmp_path / "subject"), tmp_path), before, after) == expected


@given(st.lists(st.tuples(MODES, MODES, st.sampled_from("AMDTRU"), PATHS)))
def test_every_output_of_git_is_understood(changes: list[tuple[str, str, str, str]]) -> None:
    text = "".join(f":{old} {new} {'0' * 40} {'1' * 40} {status}\0{path}\0" for old, new, status, path in changes)
    simple = all(
        status == "M" and old == new and old in {"100644", "100755"} and Path(path).name[:4] != ".git"
        for old, new, status, path in changes
    )
    parsed = parse_changes(text)
    if simple:
        assert parsed == {path for *_, path in changes}
    elif any(status != "M" or old != new or not old.startswith("100") for old, new, status, _ in changes):
        assert parsed is None
