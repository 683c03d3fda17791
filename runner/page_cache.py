"""The page cache as a declared state: files are put out of it, and that they are out is checked, not assumed."""

import ctypes
import mmap
import os
import stat
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from runner.errors import FaultwatchError

_PROT_READ, _MAP_SHARED = 1, 1
_MAP_FAILED = ctypes.c_void_p(-1).value
_MADV_RANDOM, _MADV_POPULATE_READ = 1, 22
_CHUNK = 1 << 17
"""Bytes that are read at a time. What they are does not matter: without reading ahead each page is read by itself."""


class StaysWarm(FaultwatchError):
    """A file cannot be put out of memory, so a cold case cannot be measured."""


def make_cold(files: Iterable[Path]) -> None:
    """Drop all pages of some files from memory.

    Pages that a running program maps cannot be dropped, nor pages of a file system that lives in memory.

    Raises
    ------
    StaysWarm
        Where pages stay, so that a measurement would not be a cold one; names the file and how much of it stays. Also
        where it is a folder, a pipe or a device.
    """
    for file in files:
        # Not blocking: the tree is a stranger's, and opening a pipe would wait for its other end for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StaysWarm(f"{file} is no file that can be put out of memory", "name files in [run] files")
            resident, pages = put_out(descriptor)
        finally:
            os.close(descriptor)
        if resident:
            raise StaysWarm(
                f"{file}: {resident} of {pages} pages stay in memory, so this cannot be a cold start",
                "end what has the file mapped, or name a file that only this program uses",
            )


def put_out(descriptor: int) -> tuple[int, int]:
    """Drop all pages of an open file that can be dropped; return how many stay in memory, and how many it has."""
    os.fsync(descriptor)  # A page that was not written yet cannot be dropped.
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return residency(descriptor)


def read_in(descriptor: int) -> tuple[int, int]:
    """Read all of an open file, without reading ahead; return how many pages are in memory, and how many it has.

    A page that was not there comes as a folio by itself, and without the mark at which the kernel would go on to read
    ahead. Those that were there stay as they are.
    """
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    buffer = bytearray(_CHUNK)
    place = 0
    while got := os.preadv(descriptor, [buffer], place):
        place += got
    return residency(descriptor)


def resident_pages(file: Path) -> tuple[int, int]:
    """Return how many pages of a file are in memory, and how many it has.

    The kernel tells this only to those who may write the file or own it; to others every page is said to be there.
    """
    descriptor = os.open(file, os.O_RDONLY)
    try:
        return residency(descriptor)
    finally:
        os.close(descriptor)


def residency(descriptor: int) -> tuple[int, int]:
    """Return how many pages of an open file are in memory, and how many it has; see :func:`resident_pages`."""
    with Mapped(descriptor) as mapped:
        return sum(state & 1 for state in mapped.resident()), mapped.pages


class Mapped:
    """A file mapped to be looked at: mapping it reads nothing of it.

    Python's own ``mmap`` would not give away the address of a read-only mapping.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._length = os.fstat(descriptor).st_size
        self._address = 0
        self.pages = -(-self._length // mmap.PAGESIZE)

    def __enter__(self) -> Self:
        if self._length:
            address = _libc().mmap(None, self._length, _PROT_READ, _MAP_SHARED, self._descriptor, 0)
            if address == _MAP_FAILED:
                raise _last_error()
            self._address = address
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._length:
            _libc().munmap(self._address, self._length)

    @property
    def first_page(self) -> int:
        """The number of its first page in the address space."""
        return self._address // mmap.PAGESIZE

    def resident(self) -> bytes:
        """Return a byte for each page, whose lowest bit tells whether it is in memory."""
        if not self._length:
            return b""
        states = ctypes.create_string_buffer(self.pages)
        if _libc().mincore(self._address, self._length, states) != 0:
            raise _last_error()
        return states.raw

    def populate(self) -> bool:
        """Enter all pages into the page table, and read nothing ahead; tell whether this kernel can."""
        if not self._length:
            return True
        _libc().madvise(self._address, self._length, _MADV_RANDOM)
        return bool(_libc().madvise(self._address, self._length, _MADV_POPULATE_READ) == 0)

    def lock(self) -> bool:
        """Keep all pages in memory for as long as this is mapped, and read nothing ahead; tell whether that is allowed.

        The kernel gives up pages that nobody has touched for a while, on some hosts long before memory is short.
        """
        if not self._length:
            return True
        _libc().madvise(self._address, self._length, _MADV_RANDOM)
        return bool(_libc().mlock(self._address, self._length) == 0)


@lru_cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))
