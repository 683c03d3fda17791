"""Builds that sessions use are kept, others go by size and age; real locks of real processes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runner.contract.code_trust import BuildStore
from runner.contract.report import Build
from runner.subject import build_folders
from runner.subject.build_folders import BuildFolders, make_empty_folder
from runner.subject.build_record import BuildRecord, write_record

MIB = 1 << 20
HOLD = """
import sys
from pathlib import Path
from runner.subject.build_folders import BuildFolders
print(BuildFolders(Path(sys.argv[1])).lock_build_folder(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """End the use of all builds, as the end of the process does."""
    yield
    while build_folders._held_locks:
        os.close(build_folders._held_locks.popitem()[1])


@contextmanager
def another_process(folder: Path, key: str) -> Iterator[Path]:
    """A process that uses a build."""
    words = [sys.executable, "-c", HOLD, str(folder), key]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip())
        process.communicate("")


def make(folders: BuildFolders, key: str, size: int = MIB, days_ago: float = 0) -> Path:
    """Make a build that was used last some days ago, and is used by nobody."""
    build_folder = folders.lock_build_folder(key)
    build_folder.mkdir(exist_ok=True)
    write_record(build_folder, BuildRecord(build=Build(), bytes=size))
    forgotten = build_folder.with_name(f"{build_folder.name}.lock")
    os.close(build_folders._held_locks.pop(forgotten))
    used = time.time() - days_ago * 86_400
    os.utime(forgotten, (used, used))
    return build_folder


def names(folders: BuildFolders) -> set[str]:
    return {entry.name[0] for entry in (folders.folder / folders.store).iterdir()}


def test_a_process_gets_the_same_folder_each_time(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path)
    assert (
        folders.lock_build_folder("a")
        == folders.lock_build_folder("a")
        == BuildFolders(tmp_path).lock_build_folder("a")
    )
    assert folders.lock_build_folder("b") != folders.lock_build_folder("a")


def test_two_processes_never_get_the_same_folder(tmp_path: Path) -> None:
    with another_process(tmp_path, "a") as theirs:
        ours = BuildFolders(tmp_path).lock_build_folder("a")
        assert ours != theirs
        assert len(str(ours)) == len(str(theirs))


def test_the_stores_are_apart_and_their_names_have_one_length(tmp_path: Path) -> None:
    folders = {BuildFolders(tmp_path, store).lock_build_folder("a") for store in BuildStore}
    assert len(folders) == len(BuildStore)
    assert len({len(str(build_folder)) for build_folder in folders}) == 1


def test_beyond_its_size_the_builds_used_least_recently_go(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path, max_bytes=5 * MIB // 2)
    for key, days in (("a", 1), ("b", 3), ("c", 2)):
        make(folders, key, days_ago=days)
    folders.evict()
    assert names(folders) == {"a", "c"}


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path, max_days=7)
    make(folders, "a", days_ago=6)
    make(folders, "b", days_ago=8)
    folders.evict()
    assert names(folders) == {"a"}


def test_without_limits_nothing_goes(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path)
    make(folders, "a", size=1 << 50, days_ago=4000)
    folders.evict()
    assert names(folders) == {"a"}


def test_a_build_that_a_session_uses_stays(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path, max_bytes=0, max_days=1)
    make(folders, "a", days_ago=100)
    make(folders, "b", days_ago=100)
    ours = folders.lock_build_folder("b")
    with another_process(tmp_path, "a") as theirs:
        old = time.time() - 100 * 86_400
        for build_folder in (ours, theirs):
            os.utime(build_folder.with_name(f"{build_folder.name}.lock"), (old, old))
        folders.evict()
        assert ours.exists()
        assert theirs.exists()
    folders.evict()
    assert names(folders) == {"b"}


def test_what_an_interrupted_build_left_goes(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path)
    build_folder = make(folders, "a")
    make_empty_folder(build_folder)
    (build_folder / "tree").mkdir()
    folders.evict()
    assert not names(folders)


def test_what_another_process_is_building_stays(tmp_path: Path) -> None:
    with another_process(tmp_path, "a") as theirs:
        make_empty_folder(theirs)
        BuildFolders(tmp_path).evict()
        assert theirs.exists()


def test_the_builds_of_one_store_do_not_push_out_those_of_another(tmp_path: Path) -> None:
    trusted = BuildFolders(tmp_path, BuildStore.TRUSTED, max_bytes=MIB)
    make(trusted, "a", days_ago=1)
    pulls = BuildFolders(tmp_path, BuildStore.PULL_REQUEST, max_bytes=MIB)
    for key in "bcd":
        make(pulls, key)
    pulls.evict()
    assert names(trusted) == {"a"}
    assert len(names(pulls)) == 1


def test_a_history_of_many_revisions_holds_few_folders(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path)
    for number in range(30):
        folders.lock_build_folder(f"{number:02}")
    assert len(build_folders._held_locks) < 10


def test_builds_with_the_longer_names_of_before_go_too(tmp_path: Path) -> None:
    folders = BuildFolders(tmp_path, max_days=7)
    for name in (f"{'a' * 40}-{'d' * 16}-0", f"{'b' * 64}-{'d' * 16}-0____"):
        build_folder = tmp_path / folders.store / name
        build_folder.mkdir(parents=True)
        write_record(build_folder, BuildRecord(build=Build(), bytes=MIB))
        lock = build_folder.with_name(f"{name}.lock")
        lock.touch()
        old = time.time() - 8 * 86_400
        os.utime(lock, (old, old))
    make(folders, "c")
    folders.evict()
    assert names(folders) == {"c"}
