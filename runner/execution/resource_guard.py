"""Kills a program that leaves the host too little disk, memory or inodes, or that writes too much into its tree.

The kernel's limit on the size of one file does not limit the sum of the files. The memory is checked because a
sandbox's ``/tmp`` takes memory outside all process limits.
"""

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec import Struct

from runner.execution.execute import EndPrograms
from runner.system.tree_walk import TreeTooLarge, walk_tree

MIN_FREE_BYTES = 1 << 30
"""Bytes of the disk that a program has to leave free, or half of those that were free before it if that is less."""
MIN_FREE_MEMORY_BYTES = 256 << 20
"""Bytes of memory that a program has to leave available, or a quarter of those before it if that is less."""
MIN_FREE_FILES = 10_000
"""Free inodes that a program has to leave on the disk, or half of those before it if that is less."""
MAX_FILES = 1_000_000
"""The largest number of files that a program may create."""
_BLOCK_BYTES = 512
"""The unit of ``st_blocks``, independent of the file system's block size."""
_CHECK_PERIOD_SECONDS = 0.25
"""Seconds between two checks. A program can exceed the limit by as much as it writes in that time."""


class ResourceGuard:
    """A companion that kills a program whose tree grows too large, or that uses up a resource of the host.

    Asking the file system for its free space costs almost nothing and disturbs nothing. The tree itself is walked only
    after the free space has shrunk by as much as the tree may grow.

    Attributes
    ----------
    problem
        Why the program was killed; empty if it was not.
    """

    def __init__(self, tree: Path, max_bytes: int, period: float = _CHECK_PERIOD_SECONDS) -> None:
        """Note the resources at the start, with which those of every later check are compared.

        Parameters
        ----------
        max_bytes
            The number of bytes by which the tree may grow.
        period
            Seconds between two checks.
        """
        self.problem = ""
        self._tree = tree
        self._max_bytes = max_bytes
        self._period = period
        self._resources_at_start = FreeResources.measure(tree)
        self._used_bytes_at_start = count_used_bytes(tree) or 0
        self._found_problem = ""
        """The problem that the thread has found, for which the program is about to be killed."""
        self._has_ended = threading.Event()
        self._alarm, self._alarm_writer = os.pipe()
        self._thread = threading.Thread(target=self._watch_tree, daemon=True)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors for the program to inherit: none."""
        return ()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the program has to be killed."""
        return self._alarm

    def serve(self, pid: int) -> bool:
        """End the program because of the problem that the thread has found.

        Raises
        ------
        EndPrograms
            Always.
        """
        os.read(self._alarm, 1)
        self.problem = self._found_problem
        raise EndPrograms

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._has_ended.set()
        self._thread.join()
        os.close(self._alarm)
        os.close(self._alarm_writer)

    def _watch_tree(self) -> None:
        """Watch the resources of the host and the tree until the program ends; raise the alarm if it must be killed."""
        while not self._has_ended.wait(self._period):
            free_resources = FreeResources.measure(self._tree)
            self._found_problem = describe_shortage(self._resources_at_start, free_resources)
            # Walking the tree takes long, so do it only if the disk has lost as much space as the tree may grow by. The
            # tree lacks files that were removed while open: only the shortage of free space, above, limits these.
            if not self._found_problem and self._resources_at_start.bytes - free_resources.bytes >= self._max_bytes:
                used_bytes = count_used_bytes(self._tree)
                if used_bytes is None or used_bytes - self._used_bytes_at_start > self._max_bytes:
                    self._found_problem = f"wrote more than {self._max_bytes:,} bytes into its folder"
            if self._found_problem:
                os.write(self._alarm_writer, b"!")
                return


class FreeResources(Struct, frozen=True):
    """The free bytes and files on a file system, and the available bytes of memory.

    Attributes
    ----------
    has_files
        Whether the file system limits the number of files.
    """

    bytes: int
    files: int
    has_files: bool = True
    memory: int = 0

    @classmethod
    def measure(cls, tree: Path) -> Self:
        """Return the free resources of the host and of the file system of a tree."""
        state = os.statvfs(tree)
        # f_bavail and f_favail are what a sandboxed program can use: f_bfree includes what is reserved for root.
        return cls(
            bytes=state.f_bavail * state.f_frsize,
            files=state.f_favail,
            has_files=state.f_files > 0,
            memory=_read_available_memory(),
        )


def describe_shortage(resources_at_start: FreeResources, current_resources: FreeResources) -> str:
    """Return how a program has used up a resource of the host, or that it has created too many files; empty if neither.

    The text is the predicate of a sentence.

    On a host that had little of a resource at the start, a fraction of that must remain.
    """
    if current_resources.bytes < min(MIN_FREE_BYTES, resources_at_start.bytes // 2):
        return "left too little free space on the disk"
    if current_resources.memory < min(MIN_FREE_MEMORY_BYTES, resources_at_start.memory // 4):
        return "left too little memory on the machine"
    if resources_at_start.has_files and current_resources.files < min(MIN_FREE_FILES, resources_at_start.files // 2):
        return "left too few free inodes on the disk"
    if resources_at_start.has_files and resources_at_start.files - current_resources.files > MAX_FILES:
        return f"created more than {MAX_FILES:,} files"
    return ""


def _read_available_memory() -> int:
    """Return the available memory in bytes; 0 if the kernel does not show it."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024  # The kernel prints KiB.
    return 0


def count_used_bytes(tree: Path) -> int | None:
    """Return the bytes that a tree takes on the disk; None if it is too large to be walked.

    A file with several names, as compilers link them, is counted once.
    """
    total_bytes = 0
    linked_files: set[tuple[int, int]] = set()
    try:
        for entry in walk_tree(tree):
            with suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                identity = (status.st_dev, status.st_ino)
                if identity not in linked_files:
                    total_bytes += status.st_blocks * _BLOCK_BYTES
                if status.st_nlink > 1 and not stat.S_ISDIR(status.st_mode):
                    linked_files.add(identity)
    except TreeTooLarge:
        return None
    return total_bytes
