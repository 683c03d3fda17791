"""Temporary folders, and what remains of those of killed processes."""

import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from runner.system import scratch
from runner.system.processes import read_own_name
from runner.system.scratch import make_scratch_folder, make_short_scratch_folder, remove_abandoned_folders


@pytest.fixture
def parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("make_folder", [make_scratch_folder, make_short_scratch_folder])
def test_a_folder_is_removed_with_its_context_or_by_others_after_its_process_was_killed(
    make_folder: Callable[[], AbstractContextManager[Path]], parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_folder() as folder:
        (folder / "inner").mkdir()
        remove_abandoned_folders()
        assert (folder / "inner").is_dir()
    assert list(parent.iterdir()) == []
    # A process with this number that began at another time is another process.
    killed = read_own_name().replace(f"{os.getpid()}-", f"{os.getpid()}-1")
    monkeypatch.setattr(scratch, "read_own_name", lambda: killed)
    abandoned = make_folder()
    abandoned.__enter__()
    assert len(list(parent.iterdir())) == 1
    remove_abandoned_folders()
    assert list(parent.iterdir()) == []


def test_the_length_of_a_short_path_does_not_depend_on_the_process(
    parent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_short_scratch_folder() as folder:
        monkeypatch.setattr(scratch, "read_own_name", lambda: "1-1-00000000")
        with make_short_scratch_folder() as other_folder:
            assert len(str(folder)) == len(str(other_folder)) == len(f"{parent}/faultwatch-12345678")


@pytest.mark.parametrize("owner", [None, "", "nobody", "1-1", "1-1-00000000 "])
def test_a_folder_of_another_program_with_a_similar_name_is_left(owner: str | None, parent: Path) -> None:
    folder = parent / "faultwatch-abcdefgh"
    folder.mkdir()
    if owner is not None:
        (folder / "owner").write_text(owner)
    remove_abandoned_folders()
    assert folder.is_dir()
