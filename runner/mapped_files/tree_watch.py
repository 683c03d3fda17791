"""Watches which files of a build a program opens, with inotify: it needs no privileges and sees into a sandbox.

The bytes that decide what a program does are not only those that it maps: also the source of a script, or a table that
it reads. A revision in which none of these bytes differs cannot have changed a count.
"""

import ctypes
import os
import struct
from functools import lru_cache
from pathlib import Path
from threading import Thread
from types import TracebackType
from typing import Self

from msgspec import Struct, field

_OPENED, _MODIFIED, _MOVED_HERE, _CREATED, _OVERFLOWED = 0x20, 0x2, 0x80, 0x100, 0x4000
_FOLDER, _FOLDERS_ONLY = 0x40000000, 0x01000000
_EVENT = struct.Struct("iIII")
MOST_FOLDERS = 20_000


class FileAccesses(Struct):
    """The files of a tree that a program opened, wrote and created.

    Attributes
    ----------
    opened
        Files that existed before and were opened.
    written
        Files that existed before and were written to: their earlier content is lost.
    created
        Files that did not exist before.
    complete
        Whether no event was missed.
    """

    opened: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    created: set[Path] = field(default_factory=set)
    complete: bool = True


class TreeWatch:
    """Watches a tree from its entry to its exit."""

    def __init__(self, tree: Path) -> None:
        self._tree = tree
        self._descriptor = -1
        self._folders: dict[int, Path] = {}
        self._complete = True

    def __enter__(self) -> Self:
        self._descriptor = _libc().inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._descriptor < 0:
            self._complete = False
            return self
        mask = _OPENED | _MODIFIED | _MOVED_HERE | _CREATED | _FOLDERS_ONLY
        for folder, _, _ in os.walk(self._tree):
            watch = _libc().inotify_add_watch(self._descriptor, os.fsencode(folder), mask)
            if watch < 0 or len(self._folders) >= MOST_FOLDERS:
                self._complete = False
                break
            self._folders[watch] = Path(folder)
        self._read_events()  # Discards the events of os.walk itself.
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            # The kernel takes some hundredths of a second for it, and nothing has to wait.
            Thread(target=os.close, args=(self._descriptor,)).start()
            self._descriptor = -1

    def accesses(self) -> FileAccesses:
        """Return the accesses since the watch began."""
        accesses = FileAccesses(complete=self._complete)
        for watch, mask, name in self._read_events():
            if mask & _OVERFLOWED:
                accesses.complete = False
            if not name or mask & _FOLDER or watch not in self._folders:
                continue  # The runner opens folders itself, when it checks the size of the tree.
            path = self._folders[watch] / name
            if mask & (_CREATED | _MOVED_HERE):
                accesses.created.add(path)
            elif path not in accesses.created:
                (accesses.written if mask & _MODIFIED else accesses.opened).add(path)
        return accesses

    def _read_events(self) -> list[tuple[int, int, str]]:
        events = []
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                break
            offset = 0
            while offset < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, offset)
                offset += _EVENT.size
                events.append((watch, mask, os.fsdecode(data[offset : offset + length].rstrip(b"\0"))))
                offset += length
        return events


@lru_cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    return libc
