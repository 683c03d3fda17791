"""Paths that programs see."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runner.system.path_length import filled

names = st.text("abc0123-é", min_size=1, max_size=60)
folders = st.builds(Path, st.just("/"), *[st.text("abcé", max_size=20)] * 6)


@given(folders, names, st.sampled_from(["", "tree"]))
def test_a_path_has_one_of_few_lengths_and_begins_as_named(folder: Path, name: str, below: str) -> None:
    path = filled(folder, name, below)
    assert path.parent == folder
    assert path.name.rstrip("_") == name
    assert len(path.name.encode()) < 255
    length = len(str(path / below).encode())
    assert length >= 128
    assert length % 64 == 0
    assert length == 128 or length - 64 < len(str(folder / name / below).encode())


def test_names_of_one_length_fill_the_same_path_in_folders_of_any_length() -> None:
    lengths = {len(str(filled(Path("/") / ("x" * size), "n" * 57, "tree"))) for size in range(1, 64)}
    assert lengths == {123}
