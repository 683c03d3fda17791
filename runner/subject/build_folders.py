"""Keeps the folder of each build: finds it, locks it while a session uses it, and evicts old builds beyond a limit.

The paths of all build folders have the same length, even on different hosts, because programs contain the path of the
folder in which they were built. A process that uses a build folder holds a lock. If another process holds the lock, the
revision is built once more in another folder, so that two sessions never run in the same tree. Locked folders are never
removed.
"""

import fcntl
import os
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from runner.contract.code_trust import BuildStore
from runner.errors import FaultwatchError
from runner.subject.build_record import RECORD_FILE, DamagedBuild, read_record, remove_record
from runner.subject.session_tree_restorer import TREE_FOLDER
from runner.system.path_length import compute_path_length, pad_path
from runner.system.tree_walk import remove_tree

_MAX_FOLDERS_PER_BUILD = 10
"""The largest number of folders for one build, used by sessions of several processes at the same time."""
_MAX_HELD_LOCKS = 8
"""The largest number of folders that a process keeps locked. A session uses one or two trees, but a history uses
thousands one after the other."""
_DAY_SECONDS = 86_400.0
_ASIDE_SUFFIX = ".aside"
_held_locks: OrderedDict[Path, int] = OrderedDict()
"""The locks of this process: descriptors by the path of the lock file, the least recently used first."""


class BuildFolders(Struct, frozen=True):
    """The folders of the builds of one store.

    Attributes
    ----------
    folder
        The folder of all stores.
    store
        The store, which depends on the kind of code: builds of different kinds are never exchanged.
    max_bytes
        The maximum size of all builds in the store in bytes; beyond it, the least recently used builds are removed.
        None for no limit.
    max_days
        The days after which an unused build is removed; None for no limit.
    """

    folder: Path
    store: BuildStore = BuildStore.TRUSTED
    max_bytes: int | None = None
    max_days: float | None = None

    def lock_build_folder(self, key: str) -> Path:
        """Return the folder of a build, which may not exist yet, and lock it for this process.

        Raises
        ------
        FaultwatchError
            If other processes use all folders of the build, or the folder cannot be written.
        """
        store_folder = self.folder / self.store
        try:
            store_folder.mkdir(parents=True, exist_ok=True)
            for number in range(_MAX_FOLDERS_PER_BUILD):
                build_folder = self._get_build_folder(key, number)
                if _hold_lock(_get_lock_file(build_folder)):
                    return build_folder
        except OSError as error:
            raise FaultwatchError(
                f"builds cannot be stored in {store_folder}: {error.strerror}",
                "set FAULTWATCH_HOME to a folder that you can write to",
            ) from None
        raise FaultwatchError(
            f"{_MAX_FOLDERS_PER_BUILD} other processes are using the build {key}", "wait until one of them ends"
        )

    def get_first_build_folder(self, key: str) -> Path:
        """Return the first folder of a build: the only one, unless several processes use the build."""
        return self._get_build_folder(key, 0)

    def _get_build_folder(self, key: str, number: int) -> Path:
        """Return a folder of a build by its number; the paths of all build folders have the same length."""
        return pad_path(self.folder / self.store, f"{key}-{number}", compute_path_length(self.folder), TREE_FOLDER)

    def evict(self) -> None:
        """Remove builds beyond the limits and leftovers of interrupted builds, except those in use."""
        now = time.time()
        total_bytes = 0
        self.remove_unfinished_builds()
        # Each build is its folder, the time of its last use, and its size.
        newest_first = sorted(self._list_builds(), key=lambda build: build[1], reverse=True)
        for build_folder, last_use, size in newest_first:
            total_bytes += size
            is_too_old = self.max_days is not None and now - last_use > self.max_days * _DAY_SECONDS
            is_beyond_size = self.max_bytes is not None and total_bytes > self.max_bytes
            if (is_too_old or is_beyond_size) and self._remove_build(build_folder):
                total_bytes -= size

    def remove_unfinished_builds(self) -> None:
        """Remove the leftovers of interrupted builds: unused folders without a record, and builds moved aside."""
        for aside_folder in (self.folder / self.store).glob(f"*{_ASIDE_SUFFIX}"):
            with _lock_briefly(_get_lock_file(aside_folder.with_suffix(""))) as is_free:
                if is_free:
                    remove_tree(aside_folder)
        for lock in (self.folder / self.store).glob("*.lock"):
            build_folder = lock.with_suffix("")
            if build_folder.exists() and not (build_folder / RECORD_FILE).exists():
                self._remove_build(build_folder)

    def _list_builds(self) -> Iterator[tuple[Path, float, int]]:
        """Yield the folder of each build, the time of its last use, and its size in bytes."""
        for lock in (self.folder / self.store).glob("*.lock"):
            build_folder = lock.with_suffix("")
            with suppress(OSError):
                yield build_folder, lock.stat().st_mtime, _get_size(build_folder)

    def _remove_build(self, build_folder: Path) -> bool:
        """Remove a build and its record, unless a process uses it; return whether it was removed."""
        with _lock_briefly(_get_lock_file(build_folder)) as is_free:
            if is_free:
                remove_record(build_folder)
                remove_tree(build_folder)
                if build_folder.exists():  # Some files could not be removed, so the lock file is still needed.
                    return False
                _get_lock_file(build_folder).unlink(missing_ok=True)
            return is_free


def unlock_build_folders() -> None:
    """Release the locks that this process holds on build folders, so that other processes can use these folders."""
    while _held_locks:
        os.close(_held_locks.popitem()[1])


def make_empty_folder(build_folder: Path) -> None:
    """Create an empty build folder, after removing what is there.

    Raises
    ------
    FaultwatchError
        If the present content cannot be removed.
    """
    remove_record(build_folder)
    if os.path.lexists(build_folder):
        remove_tree(build_folder)
    try:
        build_folder.mkdir(parents=True)
    except FileExistsError:
        raise FaultwatchError(f"{build_folder} cannot be removed", "remove it by hand") from None


def move_build_aside(build_folder: Path) -> Path:
    """Move a build out of its folder temporarily; return its new path."""
    aside_folder = build_folder.with_name(f"{build_folder.name}{_ASIDE_SUFFIX}")
    remove_tree(aside_folder)
    return build_folder.rename(aside_folder)


def _get_lock_file(build_folder: Path) -> Path:
    return build_folder.with_name(f"{build_folder.name}.lock")


def _get_size(build_folder: Path) -> int:
    """Return the size of a build in bytes; 0 if it is unknown."""
    try:
        record = read_record(build_folder)
    except DamagedBuild:
        return 0
    return record.bytes if record else 0


def _hold_lock(lock: Path) -> bool:
    """Lock a build for this process and mark it as used; return False if another process has locked it.

    Beyond :data:`_MAX_HELD_LOCKS`, the least recently used locks of this process are released.
    """
    if lock not in _held_locks:
        descriptor = _try_lock(lock)
        if descriptor is None:
            return False
        _held_locks[lock] = descriptor
        while len(_held_locks) > _MAX_HELD_LOCKS:
            os.close(_held_locks.popitem(last=False)[1])
    _held_locks.move_to_end(lock)
    os.utime(_held_locks[lock])
    return True


@contextmanager
def _lock_briefly(lock: Path) -> Iterator[bool]:
    """Lock a build for the duration of a context; yield False if a process uses it."""
    descriptor = None if lock in _held_locks else _try_lock(lock)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _try_lock(lock: Path) -> int | None:
    """Lock a file without waiting; return its descriptor, or None if another process has locked it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(lock.stat(), os.fstat(descriptor)):
                return descriptor
        # Another process has removed the build and its lock file, so this lock is on a deleted file: try again.
        os.close(descriptor)
