"""Which pages of a file are in memory: seen, put out, read in, kept there."""

import ctypes
import mmap
import os
from functools import lru_cache
from types import TracebackType
from typing import Self

_PROT_READ, _MAP_SHARED = 1, 1
_MAP_FAILED = ctypes.c_void_p(-1).value
_MADV_RANDOM, _MADV_POPULATE_READ = 1, 22
_CHUNK = 1 << 17
"""Bytes that are read at a time. What they are does not matter: without reading ahead each page is read by itself."""


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
