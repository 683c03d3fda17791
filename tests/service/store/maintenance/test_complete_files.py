from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from service.errors import ServiceError
from service.store.maintenance.complete_files import write_completely


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    with write_completely(tmp_path / "file") as part:
        part.write_text("all")
        assert not (tmp_path / "file").exists()
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "all"


def test_of_a_file_that_cannot_be_completed_nothing_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as before")
    with (
        pytest.raises(ServiceError, match="No space left on device"),
        write_completely(tmp_path / "file") as part,
    ):
        part.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "as before"


@pytest.mark.parametrize("name", ["", "missing/file", "file/below"])
def test_a_place_for_no_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError) as refused, write_completely(tmp_path / name):
        pytest.fail("nothing can be written")
    assert str(tmp_path / name) in str(refused.value)


def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    """The super-user could otherwise replace /dev/null, or the link /dev/stdout."""
    pipe, link = tmp_path / "pipe", tmp_path / "stdout"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for file in (pipe, link):
        with pytest.raises(ServiceError, match="not a regular file"), write_completely(file):
            pytest.fail("nothing can be written")
    assert pipe.is_fifo()
    assert link.is_symlink()
