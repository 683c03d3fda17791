"""When a program would be answered the same in another tree."""

import errno
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.dependencies.lookup_answers import AnsweredLookups, ProgramTree, answer_lookups
from runner.dependencies.recorded_lookups import Lookups
from runner.dependencies.tree_difference import find_tree_differences
from runner.execution.sandbox import Sandbox

NAMES = ("one", "deep/two", "deep/three")


def grow(folder: Path) -> Path:
    (folder / "deep").mkdir(parents=True)
    for name in NAMES:
        (folder / name).write_text(f"{name} of {folder}")
        os.utime(folder / name, (1000, 1000))
    (folder / "link").symlink_to("deep/two")
    (folder / "sparse").write_bytes(bytes(1 << 16))
    os.utime(folder / "sparse", (1000, 1000))
    return folder


def with_hole(file: Path) -> None:
    """Make a hole of what is zero, with the same size and time."""
    times = file.stat()
    os.truncate(file, 0)
    os.truncate(file, 1 << 16)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    return grow(tmp_path / "tree-1"), grow(tmp_path / "tree-2")


def are_alike(trees: tuple[Path, Path], *questions: str, made: str = "", sandbox: Sandbox | None = None) -> bool:
    before, after = trees
    pairs = frozenset(
        (kind, f"{before}/{path}".rstrip("/")) for kind, _, path in (text.partition(" ") for text in questions)
    )
    lookups = Lookups(pairs, frozenset({f"{before}/{made}"} if made else ()))
    place = ProgramTree(before, time.time_ns() - 10**12, sandbox)
    return AnsweredLookups(place, lookups, answer_lookups(place, lookups)).has_same_answers_in(
        after, time.time_ns() - 10**12
    )


EVERYTHING = (
    *(f"{kind} {name}" for kind in "csl" for name in (*NAMES, "link")),
    "d ",
    "d deep",
    "s ",
    "s deep",
    "s absent",
)


def test_two_trees_of_the_same_revision_are_alike(trees: tuple[Path, Path]) -> None:
    assert are_alike(trees, *EVERYTHING)


@pytest.mark.parametrize(
    ("change", "question"),
    [
        (lambda tree: (tree / "one").write_text("other"), "c one"),
        (lambda tree: (tree / "one").write_text(f"one of {tree} "), "s one"),
        (lambda tree: (tree / "one").write_text(f"one of {tree}{tree}"), "c one"),
        (lambda tree: (tree / "one").chmod(0o755), "s one"),
        (lambda tree: (tree / "one").chmod(0o755), "c one"),
        (lambda tree: os.utime(tree / "one", (2000, 2000)), "s one"),
        (lambda tree: os.utime(tree / "one", (2000, time.time() + 500)), "s one"),
        (lambda tree: os.utime(tree / "one", (time.time() + 500, 1000)), "s one"),
        (lambda tree: os.setxattr(tree / "one", "user.pages", b"1300"), "x one"),
        (lambda tree: os.setxattr(tree / "one", "user.pages", b"1300"), "s one"),
        (lambda tree: with_hole(tree / "sparse"), "c sparse"),
        (lambda tree: with_hole(tree / "sparse"), "s sparse"),
        (lambda tree: os.link(tree / "one", tree / "further"), "s one"),
        (lambda tree: os.truncate(tree / "one", 1 << 20), "s one"),
        (lambda tree: (tree / "absent").touch(), "s absent"),
        (lambda tree: (tree / "absent").touch(), "c absent"),
        (lambda tree: (tree / "absent").mkdir(), "s absent/deeper"),
        (lambda tree: (tree / "one").unlink(), "s one"),
        (lambda tree: (tree / "deep/four").touch(), "d deep"),
        (lambda tree: (tree / "deep/three").rename(tree / "deep/four"), "d deep"),
        (lambda tree: (tree / "deep/four").mkdir(), "s deep"),
        (lambda tree: ((tree / "deep/three").unlink(), (tree / "deep/three").mkdir()), "d deep"),
        (lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("deep/three")), "l link"),
        (lambda tree: ((tree / "link").unlink(), (tree / "link").symlink_to("deep/three")), "c link"),
        (lambda tree: ((tree / "link").unlink(), shutil.copy2(tree / "deep/two", tree / "link")), "c link"),
        (lambda tree: ((tree / "deep").rename(tree / "d"), (tree / "deep").symlink_to("d")), "c deep/two"),
        (lambda tree: (tree / "deep").chmod(0o700), "s deep"),
    ],
)
def test_what_differs_matters_if_it_was_asked(
    trees: tuple[Path, Path], change: Callable[[Path], object], question: str
) -> None:
    assert are_alike(trees, question)
    change(trees[1])
    assert not are_alike(trees, question)


def test_what_was_not_asked_does_not_matter(trees: tuple[Path, Path]) -> None:
    (trees[1] / "deep/four").touch()
    (trees[1] / "one").write_text("other")
    assert are_alike(trees, "c deep/two", "s deep/three", "s absent")


def test_times_within_the_making_of_a_tree_are_the_same(trees: tuple[Path, Path]) -> None:
    for tree, ago in zip(trees, (20, 30), strict=True):
        os.utime(tree / "one", (0, time.time() - ago))
    assert are_alike(trees, "s one")


def test_what_the_program_made_itself_was_missing(trees: tuple[Path, Path]) -> None:
    (trees[0] / "deep/cache").write_text("made")
    questions = ("c deep/cache", "d deep", "s deep")
    assert are_alike(trees, *questions[:2], made="deep/cache")
    (trees[1] / "deep/cache").write_text("made")
    assert not are_alike(trees, "c deep/cache", made="deep/cache")
    assert not are_alike(trees, "d deep", made="deep/cache")


def test_a_very_large_file_is_not_compared_and_says_so(trees: tuple[Path, Path]) -> None:
    for tree in trees:
        os.truncate(tree / "one", (1 << 30) + 1)
    lookups = Lookups(frozenset({("c", f"{trees[0]}/one")}))
    assert answer_lookups(ProgramTree(trees[0]), lookups).digest == ""
    assert answer_lookups(ProgramTree(trees[0]), Lookups(frozenset({("c", f"{trees[0]}/deep/two")}))).digest


def test_files_elsewhere_are_compared_by_identity(trees: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "host").write_text("text")
    place = ProgramTree(trees[0])
    lookups = Lookups(frozenset({("c", str(tmp_path / "host")), ("c", f"{trees[0]}/one")}))
    answered = AnsweredLookups(place, lookups, answer_lookups(place, lookups))
    assert answered.has_same_answers_in(trees[1], 0)
    (tmp_path / "host").write_text("other")
    assert not answered.has_same_answers_in(trees[1], 0)


def test_of_what_a_sandbox_hides_nothing_is_looked_at(trees: tuple[Path, Path], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("text")
    (trees[0] / "out").symlink_to(secret)
    lookups = Lookups(frozenset({("c", str(secret)), ("c", f"{trees[0]}/out")}))
    hidden = answer_lookups(ProgramTree(trees[0], sandbox=Sandbox()), lookups)
    secret.write_text("other")
    assert hidden == answer_lookups(ProgramTree(trees[0], sandbox=Sandbox()), lookups)
    assert hidden.host_answers == {}


def test_a_link_to_a_file_named_unknown_is_known(trees: tuple[Path, Path]) -> None:
    (trees[0] / "to").symlink_to("unknown")
    assert answer_lookups(ProgramTree(trees[0]), Lookups(frozenset({("l", f"{trees[0]}/to")}))).digest


def test_trees_with_a_file_that_is_too_large_to_be_compared_are_not_alike(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert are_alike(trees, "c one")
    monkeypatch.setattr("runner.dependencies.digests.MAX_BYTES", 4)
    assert not are_alike(trees, "c one")


def test_links_in_a_circle_have_an_end(trees: tuple[Path, Path]) -> None:
    for tree in trees:
        (tree / "a").symlink_to("b")
        (tree / "b").symlink_to("a")
    assert are_alike(trees, "c a", "s a/x", "l a")


def test_differences_are_named(trees: tuple[Path, Path]) -> None:
    base, head = trees
    assert find_tree_differences(ProgramTree(base), ProgramTree(head)) == []
    (head / "one").chmod(0o755)
    (head / "deep/two").write_text("a longer text than before")
    (base / "deep/three").unlink()
    (head / "new").touch()
    os.utime(head / "deep/two", (1000, 1000))
    assert find_tree_differences(ProgramTree(base), ProgramTree(head)) == [
        "deep/three: only in head",
        "deep/two: content, size",
        "new: only in head",
        "one: mode",
    ]


def test_a_link_in_place_of_a_file_is_named_as_such(trees: tuple[Path, Path]) -> None:
    base, head = trees
    (head / "one").unlink()
    (head / "one").symlink_to("deep/two")
    for tree, target in ((base, "one"), (head, "deep/two")):
        (tree / "moved").symlink_to(target)
    expected = ["moved: target", "one: a link only in head"]
    assert find_tree_differences(ProgramTree(base), ProgramTree(head)) == expected


def test_a_link_through_thousands_of_folders_is_followed(trees: tuple[Path, Path]) -> None:
    for tree in trees:
        (tree / "long").symlink_to("/".join(["deep/.."] * 500) + "/one")
        (tree / "broken").symlink_to("/".join(["x"] * 2000))
    assert are_alike(trees, "c long", "s broken")
    (trees[1] / "one").write_text("another text")
    assert not are_alike(trees, "c long")


def test_differences_are_named_where_the_file_system_has_no_extended_attributes(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: str) -> list[str]:
        raise OSError(errno.ENOTSUP, "Operation not supported", path)

    monkeypatch.setattr(os, "listxattr", refuse)
    for name in NAMES:
        (trees[0] / name).write_text("another text")
    differences = find_tree_differences(ProgramTree(trees[0]), ProgramTree(trees[1]))
    assert [text.partition(":")[0] for text in differences] == sorted(NAMES)
    assert all("content" in text for text in differences)


def test_of_a_tree_that_is_too_large_no_difference_is_named(
    trees: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (trees[1] / "new").touch()
    monkeypatch.setattr("runner.system.tree_walk.MAX_ENTRIES", len(list(trees[0].rglob("*"))))
    assert find_tree_differences(ProgramTree(trees[0]), ProgramTree(trees[1])) == []
