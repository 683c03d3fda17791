"""When the watch over a program ends it for the sake of the host."""

import os
from pathlib import Path

import pytest

from runner.execution.resource_guard import (
    MAX_FILES,
    MIN_FREE_BYTES,
    MIN_FREE_FILES,
    MIN_FREE_MEMORY_BYTES,
    FreeResources,
    count_used_bytes,
    describe_shortage,
)

PLENTY = FreeResources(100 * MIN_FREE_BYTES, 100 * MAX_FILES, memory=100 * MIN_FREE_MEMORY_BYTES)


@pytest.mark.parametrize(
    ("before", "now", "lacking"),
    [
        (PLENTY, PLENTY, ""),
        (PLENTY, FreeResources(MIN_FREE_BYTES - 1, PLENTY.files, memory=PLENTY.memory), "space"),
        (PLENTY, FreeResources(PLENTY.bytes, MIN_FREE_FILES - 1, memory=PLENTY.memory), "inodes"),
        (PLENTY, FreeResources(PLENTY.bytes, PLENTY.files - MAX_FILES - 1, memory=PLENTY.memory), "files"),
        (PLENTY, FreeResources(PLENTY.bytes, PLENTY.files, memory=MIN_FREE_MEMORY_BYTES - 1), "memory"),
        # A host that has little is not refused for that.
        (FreeResources(1000, 10, memory=1000), FreeResources(600, 6, memory=300), ""),
        (FreeResources(1000, 10, memory=1000), FreeResources(600, 6, memory=200), "memory"),
        (FreeResources(PLENTY.bytes, 0, has_files=False), FreeResources(PLENTY.bytes, 0, has_files=False), ""),
    ],
)
def test_what_the_host_lacks(before: FreeResources, now: FreeResources, lacking: str) -> None:
    assert lacking in describe_shortage(before, now)
    assert bool(describe_shortage(before, now)) == bool(lacking)


def test_a_file_with_several_names_is_counted_once(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    used = count_used_bytes(tmp_path)
    os.link(tmp_path / "one", tmp_path / "other")
    assert count_used_bytes(tmp_path) == used


def test_this_machine_has_room(tmp_path: Path) -> None:
    room = FreeResources.measure(tmp_path)
    assert room.bytes > 0
    assert room.memory > 0


def test_space_that_only_root_may_use_is_not_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = os.statvfs(tmp_path)
    reserved = os.statvfs_result((*state[:3], state.f_blocks, 10, state.f_files, 20, 5, *state[8:]))
    monkeypatch.setattr(os, "statvfs", lambda _: reserved)
    free = FreeResources.measure(tmp_path)
    assert (free.bytes, free.files) == (10 * state.f_frsize, 5)
