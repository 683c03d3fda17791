"""Limits how much a program writes into its tree: a limit on the size of one file does not limit many files."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_PERIOD = 0.25
"""Seconds between two checks. A program can exceed the limit by what it writes in that time."""


class TreeGuard:
    """A companion that kills a program whose tree grows too large.

    Asking the file system for its free space costs almost nothing and disturbs nothing. The tree itself is examined
    only after the free space has shrunk by as much as the tree may grow.

    Attributes
    ----------
    trouble
        Why the program was killed; empty if it was not.
    """

    def __init__(self, tree: Path, limit: int, period: float = _PERIOD) -> None:
        self.trouble = ""
        self._tree = tree
        self._limit = limit
        self._period = period
        self._free = _free(tree)
        self._before = used_bytes(tree)
        self._ended = threading.Event()
        self._alarm, self._alarm_writer = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """Descriptors for the program to inherit: none."""
        return ()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when the tree has grown too large."""
        return self._alarm

    def serve(self, pid: int) -> bool:
        """Kill the program."""
        os.read(self._alarm, 1)
        self.trouble = f"wrote more than {self._limit:,} bytes into its tree"
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        return False

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        os.close(self._alarm)
        os.close(self._alarm_writer)

    def _watch(self) -> None:
        while not self._ended.wait(self._period):
            if self._free - _free(self._tree) < self._limit:
                continue
            if used_bytes(self._tree) - self._before > self._limit:
                os.write(self._alarm_writer, b"!")
                return


def used_bytes(tree: Path) -> int:
    """Return the bytes that a tree occupies on disk."""
    total = 0
    for folder, _, files in os.walk(tree):
        for name in files:
            with suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_blocks * 512
    return total


def _free(tree: Path) -> int:
    state = os.statvfs(tree)
    return state.f_bfree * state.f_frsize
