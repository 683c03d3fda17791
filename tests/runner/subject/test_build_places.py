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
from runner.subject import build_places
from runner.subject.build_places import BuildPlaces, make_empty_folder
from runner.subject.build_record import BuildRecord, write_record

MIB = 1 << 20
HOLD = """
import sys
from pathlib import Path
from runner.subject.build_places import BuildPlaces
print(BuildPlaces(Path(sys.argv[1])).acquire_place(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """End the use of all builds, as the end of the process does."""
    yield
    while build_places._held_locks:
        os.close(build_places._held_locks.popitem()[1])


@contextmanager
def another_process(folder: Path, key: str) -> Iterator[Path]:
    """A process that uses a build."""
    words = [sys.executable, "-c", HOLD, str(folder), key]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip())
        process.communicate("")


def make(places: BuildPlaces, key: str, size: int = MIB, days_ago: float = 0) -> Path:
    """Make a build that was used last some days ago, and is used by nobody."""
    place = places.acquire_place(key)
    place.mkdir(exist_ok=True)
    write_record(place, BuildRecord(build=Build(), bytes=size))
    forgotten = place.with_name(f"{place.name}.lock")
    os.close(build_places._held_locks.pop(forgotten))
    used = time.time() - days_ago * 86_400
    os.utime(forgotten, (used, used))
    return place


def names(places: BuildPlaces) -> set[str]:
    return {entry.name[0] for entry in (places.folder / places.store).iterdir()}


def test_a_process_gets_the_same_place_each_time(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path)
    assert places.acquire_place("a") == places.acquire_place("a") == BuildPlaces(tmp_path).acquire_place("a")
    assert places.acquire_place("b") != places.acquire_place("a")


def test_two_processes_never_get_the_same_place(tmp_path: Path) -> None:
    with another_process(tmp_path, "a") as theirs:
        ours = BuildPlaces(tmp_path).acquire_place("a")
        assert ours != theirs
        assert len(str(ours)) == len(str(theirs))


def test_the_stores_are_apart_and_their_names_have_one_length(tmp_path: Path) -> None:
    places = {BuildPlaces(tmp_path, store).acquire_place("a") for store in BuildStore}
    assert len(places) == len(BuildStore)
    assert len({len(str(place)) for place in places}) == 1


def test_beyond_its_size_the_builds_used_least_recently_go(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path, max_bytes=5 * MIB // 2)
    for key, days in (("a", 1), ("b", 3), ("c", 2)):
        make(places, key, days_ago=days)
    places.evict()
    assert names(places) == {"a", "c"}


def test_what_nobody_used_for_long_goes(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path, max_days=7)
    make(places, "a", days_ago=6)
    make(places, "b", days_ago=8)
    places.evict()
    assert names(places) == {"a"}


def test_without_limits_nothing_goes(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path)
    make(places, "a", size=1 << 50, days_ago=4000)
    places.evict()
    assert names(places) == {"a"}


def test_a_build_that_a_session_uses_stays(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path, max_bytes=0, max_days=1)
    make(places, "a", days_ago=100)
    make(places, "b", days_ago=100)
    ours = places.acquire_place("b")
    with another_process(tmp_path, "a") as theirs:
        old = time.time() - 100 * 86_400
        for place in (ours, theirs):
            os.utime(place.with_name(f"{place.name}.lock"), (old, old))
        places.evict()
        assert ours.exists()
        assert theirs.exists()
    places.evict()
    assert names(places) == {"b"}


def test_what_an_interrupted_build_left_goes(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path)
    place = make(places, "a")
    make_empty_folder(place)
    (place / "tree").mkdir()
    places.evict()
    assert not names(places)


def test_what_another_process_is_building_stays(tmp_path: Path) -> None:
    with another_process(tmp_path, "a") as theirs:
        make_empty_folder(theirs)
        BuildPlaces(tmp_path).evict()
        assert theirs.exists()


def test_the_builds_of_one_store_do_not_push_out_those_of_another(tmp_path: Path) -> None:
    trusted = BuildPlaces(tmp_path, BuildStore.TRUSTED, max_bytes=MIB)
    make(trusted, "a", days_ago=1)
    pulls = BuildPlaces(tmp_path, BuildStore.PULL_REQUEST, max_bytes=MIB)
    for key in "bcd":
        make(pulls, key)
    pulls.evict()
    assert names(trusted) == {"a"}
    assert len(names(pulls)) == 1


def test_a_history_of_many_revisions_holds_few_places(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path)
    for number in range(30):
        places.acquire_place(f"{number:02}")
    assert len(build_places._held_locks) < 10


def test_builds_with_the_longer_names_of_before_go_too(tmp_path: Path) -> None:
    places = BuildPlaces(tmp_path, max_days=7)
    for name in (f"{'a' * 40}-{'d' * 16}-0", f"{'b' * 64}-{'d' * 16}-0____"):
        place = tmp_path / places.store / name
        place.mkdir(parents=True)
        write_record(place, BuildRecord(build=Build(), bytes=MIB))
        lock = place.with_name(f"{name}.lock")
        lock.touch()
        old = time.time() - 8 * 86_400
        os.utime(lock, (old, old))
    make(places, "c")
    places.evict()
    assert names(places) == {"c"}
