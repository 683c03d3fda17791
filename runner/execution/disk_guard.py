"""Bounds what a program writes into its tree: a limit on one file's size does not bound many files."""

import os
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

_PERIOD = 0.25
"""Seconds. What a disk takes meanwhile can be written beyond the limit."""


class TreeGuard:
    """A companion that ends a program whose tree grows too large.

    Asking the file system for its free space costs nothing, so that nothing is disturbed; only when that has shrunk as
    much as the tree may grow is the tree itself looked at.

    Attributes
    ----------
    trouble
        Why the program was ended; empty where it was not.
    """

    def __init__(self, tree: Path, limit: int, period: float = _PERIOD) -> None:
        self.trouble = ""
        self._tree = tree
        self._limit = limit
        self._period = period
        self._free = _free(tree)
        self._before = used_bytes(tree)
        self._ended = threading.Event()
        self._alarm, self._bell = os.pipe()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def descriptors(self) -> tuple[int, ...]:
        """What the program must inherit: nothing."""
        return ()

    def fileno(self) -> int:
        """Return the descriptor that is readable when the tree has grown too large."""
        return self._alarm

    def serve(self, pid: int) -> bool:
        """End the program."""
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
        os.close(self._bell)

    def _watch(self) -> None:
        while not self._ended.wait(self._period):
            if self._free - _free(self._tree) < self._limit:
                continue
            if used_bytes(self._tree) - self._before > self._limit:
                os.write(self._bell, b"!")
                return


def used_bytes(tree: Path) -> int:
    """Return what a tree takes on the disk."""
    total = 0
    for folder, _, files in os.walk(tree):
        for name in files:
            with suppress(OSError):
                total += os.lstat(f"{folder}/{name}").st_blocks * 512
    return total


def _free(tree: Path) -> int:
    state = os.statvfs(tree)
    return state.f_bfree * state.f_frsize
