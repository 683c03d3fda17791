"""What was written durably is there after a power cut; on a real file system that loses its power."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.mapped_files.private_copies import PrivateCopies
from runner.subject.repository import open_repository
from runner.system.durable_files import rename_durably, rename_folder_durably
from tests.power_cut import Disk, disk
from tests.runner.commands import git, make_history

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system")


@pytest.fixture(params=[True, False], ids=["journal", "nothing"])
def written(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Disk]:
    try:
        with disk(tmp_path / "disk", tmp_path / "storage", "32m") as made:
            yield made
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no file system can be mounted: {error}")


def cut_off(storage: Disk, journal: bool) -> None:
    storage.cut(journal=journal)
    storage.restart()


def test_a_power_cut_loses_what_nobody_waited_for(storage: Disk, written: bool) -> None:
    (storage.folder / "file").write_text("content")
    cut_off(storage, written)
    assert (storage.folder / "file").exists() == written
    assert not written or (storage.folder / "file").read_text() == ""


def test_a_file_survives_with_its_content(storage: Disk, written: bool) -> None:
    (storage.folder / "part").write_text("content")
    rename_durably(storage.folder / "part", storage.folder / "file")
    cut_off(storage, written)
    assert (storage.folder / "file").read_text() == "content"


def test_a_folder_survives_with_everything_in_it(storage: Disk, written: bool) -> None:
    inside = storage.folder / "part" / "one" / "two"
    inside.mkdir(parents=True)
    (inside / "file").write_text("content")
    (inside / "link").symlink_to("nowhere")
    rename_folder_durably(storage.folder / "part", storage.folder / "whole")
    cut_off(storage, written)
    assert (storage.folder / "whole" / "one" / "two" / "file").read_text() == "content"
    assert (storage.folder / "whole" / "one" / "two" / "link").is_symlink()
    assert not (storage.folder / "part").exists()


def test_a_private_copy_survives_or_is_stored_again(storage: Disk, written: bool, tmp_path: Path) -> None:
    library = tmp_path / "library"
    library.write_bytes(b"content")
    copies = PrivateCopies(storage.folder / "copies")
    copy = copies.get_copy(library)
    assert copy is not None
    cut_off(storage, written)
    assert copy.read_bytes() == b"content"
    copy.write_bytes(b"")
    assert copies.get_copy(library) == copy
    assert copy.read_bytes() == b"content"


def test_a_clone_survives_with_what_was_fetched(storage: Disk, written: bool, tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [1])
    address = f"file://{tmp_path}/repo"
    open_repository(address, storage.folder / "clones")
    cut_off(storage, written)
    assert open_repository(address, storage.folder / "clones").resolve("main") == commits[0]
    git(tmp_path / "repo", "commit", "--quiet", "--allow-empty", "--message", "Next")
    newest = open_repository(address, storage.folder / "clones").resolve("main")
    cut_off(storage, written)
    again = open_repository(address, storage.folder / "clones")
    assert again.resolve("main") == newest == git(tmp_path / "repo", "rev-parse", "main")
    again.git("fsck", "--full", "--strict")
