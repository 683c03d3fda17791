"""Which files of a build a program opens: the kernel's inotify says so, to root and others, from within a sandbox too.

What a program is made of is not only what it maps: the source of a script, a table that is read. A revision in which
nothing of that is different cannot be to blame for anything.
"""

import ctypes
import os
import struct
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

_OPENED, _MODIFIED, _MOVED_HERE, _CREATED, _OVERFLOWED = 0x20, 0x2, 0x80, 0x100, 0x4000
_FOLDER, _FOLDERS_ONLY = 0x40000000, 0x01000000
_HEAD = struct.Struct("iIII")
MOST_FOLDERS = 20_000


@dataclass(slots=True)
class Touched:
    """What happened in a tree.

    Attributes
    ----------
    opened
        Files that were opened and had been there before.
    written
        Those of them that were written to: what was in them before is gone.
    made
        Files that were made.
    complete
        Whether nothing was missed.
    """

    opened: set[Path] = field(default_factory=set)
    written: set[Path] = field(default_factory=set)
    made: set[Path] = field(default_factory=set)
    complete: bool = True


class TreeWatch:
    """Watches a tree for a while."""

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
        self._events()  # Looking through the tree opened its folders.
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def touched(self) -> Touched:
        """Return what happened since the watch began."""
        found = Touched(complete=self._complete)
        for watch, mask, name in self._events():
            if mask & _OVERFLOWED:
                found.complete = False
            if not name or mask & _FOLDER or watch not in self._folders:
                continue  # Folders are opened by those who look after the tree's size, too.
            path = self._folders[watch] / name
            if mask & (_CREATED | _MOVED_HERE):
                found.made.add(path)
            elif path not in found.made:
                (found.written if mask & _MODIFIED else found.opened).add(path)
        return found

    def _events(self) -> list[tuple[int, int, str]]:
        found = []
        while self._descriptor >= 0:
            try:
                data = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                break
            place = 0
            while place < len(data):
                watch, mask, _, length = _HEAD.unpack_from(data, place)
                place += _HEAD.size
                found.append((watch, mask, os.fsdecode(data[place : place + length].rstrip(b"\0"))))
                place += length
        return found


@lru_cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.inotify_add_watch.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32]
    return libc
