"""Files are put out of memory, or the case is refused."""

import errno
import os
from pathlib import Path

import pytest

from runner.measuring.cold_files import EvictionError, OutsideError, count_resident_pages, make_files_cold


def test_a_file_that_was_just_written_is_evicted(tmp_path: Path) -> None:
    file = tmp_path / "data"
    file.write_bytes(b"x" * 100_000)
    assert count_resident_pages(file)[0] > 0
    try:
        make_files_cold([file])
    except EvictionError:
        pytest.skip("this file system lives in memory")
    assert count_resident_pages(file) == (0, 25)


def test_a_link_out_of_the_build_makes_no_file_of_the_host_cold(tmp_path: Path) -> None:
    (tmp_path / "host").write_bytes(b"x" * 100_000)
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "data").symlink_to(tmp_path / "host")
    with pytest.raises(OutsideError, match="tree/data is not in the build"):
        make_files_cold([tree / "data"], allowed_folder=tree)
    assert count_resident_pages(tmp_path / "host")[0] > 0


def test_a_file_whose_file_system_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENODEV, "No such device")

    (tmp_path / "data").write_text("x")
    monkeypatch.setattr("runner.measuring.cold_files.evict_pages", refuse)
    with pytest.raises(EvictionError, match=r"data cannot be evicted: No such device"):
        make_files_cold([tmp_path / "data"])


def test_a_pipe_of_the_tree_does_not_stop_the_runner(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "program")
    with pytest.raises(EvictionError, match="program is not a regular file"):
        make_files_cold([tmp_path / "program"])
