"""What an execution changed in its tree, by the states of the files, and the sentence about it."""

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.subject.kept_files import KeepRules
from runner.subject.tree_changes import Change, FileState, describe_changes, find_changes, list_states

STATE = FileState(0o100644, 1, 1)
NAMES = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name not in {".", ".."} and len(os.fsencode(name)) < 200
)


def new(*paths: str) -> list[Change]:
    return [Change(path, "new", STATE) for path in paths]


@pytest.mark.parametrize(
    ("pattern", "path", "keeps"),
    [
        ("dump.rdb", "dump.rdb", True),
        ("dump.rdb", "data/dump.rdb", True),
        ("dump.rdb", "dump.rdb/below", True),
        ("dump.rdb", "a-dump.rdb", False),
        ("*.log", "logs/today.log", True),
        ("logs/", "logs/today", True),
        ("logs/*.log", "logs/today.log", True),
        ("logs/*.log", "old/logs/today.log", False),
        ("./logs/*.log", "logs/today.log", True),
        ("/dump.rdb", "dump.rdb", True),
        ("[[]x]", "[x]", True),
        ("*", "anything/at/all", True),
    ],
)
def test_a_pattern_keeps_a_file_and_what_is_in_a_folder(pattern: str, path: str, keeps: bool) -> None:
    assert KeepRules((pattern,)).keeps(path) is keeps


def test_the_result_and_bytecode_always_stay() -> None:
    rules = KeepRules(result="out/result.json")
    assert all(map(rules.keeps, ("out/result.json", "__pycache__", "a/__pycache__/b.pyc", "a/b.pyc")))
    assert not rules.keeps("out")
    assert not rules.keeps("result.json")


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_the_pattern_that_a_remark_names_keeps_the_file(names: list[str]) -> None:
    path = "/".join(names)
    remark = describe_changes(new(path))
    assert remark.isprintable()
    option = remark.partition("([run] ")[2].rpartition(" keeps it)")[0]
    (pattern,) = tomllib.loads(option)["keep"]
    assert KeepRules((pattern,)).keeps(path)


def test_a_remark_names_three_files_at_most() -> None:
    assert describe_changes([]) == ""
    assert describe_changes(new("dump.rdb")) == (
        "an execution leaves dump.rdb in its folder; it is removed before the next execution "
        '([run] keep = ["dump.rdb"] keeps it)'
    )
    assert describe_changes(new("a", "b", "c", "d", "dump.rdb"), {"dump.rdb"}) == (
        "an execution leaves dump.rdb, a, b and 2 more files in its folder, and the next execution would read this; "
        'they are removed before the next execution ([run] keep = ["dump.rdb"] keeps that file)'
    )
    assert describe_changes(new("a", "b")).startswith("an execution leaves a and b in its folder; they are removed")
    changes = [Change("README", "removed", None), Change("log", "modified", STATE), *new("README.gz")]
    assert describe_changes(changes) == (
        "an execution leaves README.gz, changes log and removes README in its folder; that is undone before "
        'the next execution ([run] keep = ["README.gz"] keeps that file)'
    )
    assert describe_changes([*new("a", "b", "c"), *changes[:2]]).startswith(
        "an execution leaves a, b and c and makes 2 more changes in its folder; that is undone before"
    )


def test_a_name_that_is_no_line_of_text_is_printable() -> None:
    remark = describe_changes(new("two\nlines", os.fsdecode(b"\xff"), "x" * 255))
    assert remark.isprintable()
    assert len(remark) < 400
    assert "keep = " in remark


FILES = st.dictionaries(NAMES.filter(lambda name: not name.endswith(".pyc")), st.integers(0, 3), max_size=6)


@given(before=FILES, after=FILES)
def test_the_changes_are_the_difference_of_two_trees(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, int], after: dict[str, int]
) -> None:
    tree = tmp_path_factory.mktemp("tree")
    write(tree, before)
    built = list_states(tree)
    for name in before:
        (tree / name).unlink()
    write(tree, after)
    rules = KeepRules()
    changes = {change.path: change.kind for change in find_changes(tree, built, rules) if change.path}
    different = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    assert changes == {
        **dict.fromkeys(after.keys() - before.keys(), "new"),
        **dict.fromkeys(different, "modified"),
        **dict.fromkeys(before.keys() - after.keys(), "removed"),
    }
    assert find_changes(tree, built, KeepRules(("*",))) == []


def write(tree: Path, files: dict[str, int]) -> None:
    for name, size in files.items():
        (tree / name).write_bytes(b"x" * size)
        os.utime(tree / name, ns=(0, 0))


def test_a_new_folder_is_one_change_unless_something_in_it_stays(tmp_path: Path) -> None:
    built = list_states(tmp_path)
    (tmp_path / "cache" / "deep").mkdir(parents=True)
    for name in ("cache/a", "cache/deep/b", "cache/deep/c"):
        (tmp_path / name).touch()

    def find(*patterns: str, result: str = "") -> set[str]:
        return {change.path for change in find_changes(tmp_path, built, KeepRules(patterns, result))}

    assert find() == {"cache"}
    assert find("elsewhere") == {"cache"}
    assert find("cache") == set()
    assert find("cache/deep/b") == {"cache/a", "cache/deep/c"}
    assert find(result="cache/a") == {"cache/deep/b", "cache/deep/c"}
