"""Paths that programs see."""

import os
from pathlib import Path

import pytest

from findings import by_hand
from runner.system.path_length import compute_path_length, pad_path

USUAL = ["/var/lib/faultwatch", "/root/.local/share/faultwatch", "/home/somebody/.local/share/faultwatch"]
ODD = os.fsdecode(b"/caf\xe9")


@pytest.mark.parametrize("home", USUAL)
def test_below_usual_homes_programs_keep_within_the_narrowest_limits(home: str) -> None:
    length = compute_path_length(Path(home, "builds"))
    assert length + len("/some.sock") <= 107, "the address of a socket"
    assert len("#!") + length + len("/venv/bin/python3") <= 127, "the first line of a script, which names its program"
    assert length == by_hand._PATH_BYTES


def test_data_folders_of_many_lengths_have_paths_of_few() -> None:
    lengths = {compute_path_length(Path("/" + "x" * size)) for size in range(10, 200)}
    assert lengths == {96, 192, 288}


@pytest.mark.parametrize("below", ["", "tree", "é"])
@pytest.mark.parametrize("folder", ["/", "/data", "/é", ODD])
def test_a_path_has_the_length_in_bytes_and_begins_as_named(folder: str, below: str) -> None:
    path = pad_path(Path(folder), "name-é", 96, below)
    assert path.parent == Path(folder)
    assert path.name.rstrip("_") == "name-é"
    assert len(os.fsencode(path / below)) == 96


def test_a_data_folder_may_have_a_name_that_is_no_text() -> None:
    assert compute_path_length(Path(ODD)) == 96
