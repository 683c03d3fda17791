"""A commit that changes only files which no build asks about has the same build; any other commit has not."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.dependencies.lookup_tracing import LookupTracer
from runner.dependencies.recorded_lookups import Lookups
from runner.subject.build_inputs import Inputs, find_changed_files, parse_changes, write_inputs
from runner.subject.repository import open_repository

MODES = st.sampled_from(["100644", "100755", "120000", "160000", "000000"])
PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "place" / "tree"
    (made / "folder").mkdir(parents=True)
    for name in ("one", "two", "folder/three"):
        (made / name).write_text(name)
    (made / "link").symlink_to("one")
    return made


def inputs_of(script: str, tree: Path) -> Inputs:
    """Follow a build, and note its inputs."""
    with LookupTracer(is_launched=False, is_counted=False) as tracer:
        words = tracer.wrap_command(["sh", "-c", script])
        subprocess.run(words, cwd=tree, check=True, capture_output=True, pass_fds=tracer.inherited_descriptors)
        write_inputs(tree, tracer.read_lookups())
    return Inputs(tree.parent)


@pytest.mark.parametrize(
    "script",
    [
        "cat folder/three",
        "cp folder/three copy",
        "cp --archive folder/three copy",
        "ln folder/three further-name",
        "ln -s folder/three link-2 && cat link-2 && rm link-2",
        "mkdir new && mv folder new/moved && cat new/moved/three && mv new/moved folder",
        "cd folder && cat ../folder/three",
        "grep -r thr folder",
        "python3 -c 'import mmap; print(mmap.mmap((f := open(\"folder/three\")).fileno(), 0, prot=1)[:])'",
        "python3 -c 'import os; os.read(os.open(\"folder/three\", os.O_NOATIME), 9)'",
        "tar cf all.tar folder",
        "printf more >> folder/three",
        "mv folder/three folder/fourth",
        "rm folder/three",
        "stat -c %s folder/three",
        "test -x folder/three || true",
        "find folder -newer two",
    ],
)
def test_a_build_depends_on_what_it_asks_about_or_changes(script: str, tree: Path) -> None:
    inputs = inputs_of(script, tree)
    assert inputs.may_depend_on("folder/three")
    assert not inputs.may_depend_on("one")


def test_a_build_that_talks_to_another_process_depends_on_everything(tree: Path) -> None:
    server = "import socket; a = socket.socket(socket.AF_UNIX); a.bind('s'); a.listen(); socket.socket(socket.AF_UNIX)"
    inputs = inputs_of(f"python3 -c \"{server}.connect('s')\"", tree)
    assert inputs.may_depend_on("one")


def test_nothing_is_known_of_a_build_without_notes(tmp_path: Path) -> None:
    assert Inputs(tmp_path).may_depend_on("one")


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
    assert find_changed_files(open_repository(str(tmp_path / "subject"), tmp_path), before, after) == expected


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


def test_a_changed_file_whose_name_is_not_text_is_one_that_the_build_read(
    tree: Path, commit: Callable[..., str], tmp_path: Path
) -> None:
    name = os.fsdecode(b"caf\xe9")
    for folder in (tree, tmp_path / "subject"):
        (folder / name).write_text("old")
    before = commit("First")
    (tmp_path / "subject" / name).write_text("new")
    changed = find_changed_files(open_repository(str(tmp_path / "subject"), tmp_path), before, commit("Second"))
    assert changed == {name}
    assert inputs_of("cat caf*", tree).may_depend_on(name)


@pytest.mark.parametrize("content", [b"", b"\0" * 20, b"one\0tw"])
def test_a_build_whose_list_of_inputs_was_lost_in_a_power_cut_may_depend_on_each_file(
    content: bytes, tree: Path
) -> None:
    assert not inputs_of("cat one", tree).may_depend_on("two")
    (tree.parent / "asked").write_bytes(content)
    assert Inputs(tree.parent).may_depend_on("two")


def test_a_build_that_only_moves_a_folder_may_depend_on_the_files_in_it(tree: Path) -> None:
    write_inputs(tree, Lookups(changed_paths=frozenset({f"{tree}/folder"})))
    assert Inputs(tree.parent).may_depend_on("folder/three")
    assert not Inputs(tree.parent).may_depend_on("two")
