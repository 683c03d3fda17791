"""Shows, evicts, reads back and locks the pages of a file in the page cache."""

import ctypes
import mmap
import os
from functools import lru_cache
from types import TracebackType
from typing import Self

_PROT_READ, _MAP_SHARED = 1, 1
_MAP_FAILED = ctypes.c_void_p(-1).value
_MADV_RANDOM, _MADV_POPULATE_READ = 1, 22
RESIDENT_BIT = 1
"""The bit that says whether a page is resident, in the state that mincore returns."""
_CHUNK_BYTES = 1 << 17
"""Bytes per read. The size does not affect the folios: without readahead, the kernel reads each page individually."""


def evict_pages(descriptor: int) -> tuple[int, int]:
    """Evict all evictable pages of an open file; return how many stay resident, and how many the file has."""
    os.fsync(descriptor)  # The kernel does not evict dirty pages.
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    return measure_residency(descriptor)


def read_back(descriptor: int) -> tuple[int, int]:
    """Read all of an open file without readahead; return how many pages are resident, and how many the file has.

    A page that was not resident becomes a folio of one page, without a readahead mark. Pages that were resident do not
    change.
    """
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
    buffer = bytearray(_CHUNK_BYTES)
    offset = 0
    while length := os.preadv(descriptor, [buffer], offset):
        offset += length
    return measure_residency(descriptor)


def measure_residency(descriptor: int) -> tuple[int, int]:
    """Return how many pages of an open file are resident, and how many it has."""
    with FileMapping(descriptor) as mapping:
        return sum(state & RESIDENT_BIT for state in mapping.read_residency()), mapping.pages


class FileMapping:
    """Maps a file in order to inspect its pages. Mapping does not read the file.

    Python's own ``mmap`` does not expose the address of a read-only mapping.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._length = os.fstat(descriptor).st_size
        self._address = 0
        self.pages = -(-self._length // mmap.PAGESIZE)

    def __enter__(self) -> Self:
        """Map the file, unless it is empty; raise OSError if its file system does not allow it."""
        if self._length:
            address = _load_libc().mmap(None, self._length, _PROT_READ, _MAP_SHARED, self._descriptor, 0)
            if address == _MAP_FAILED:
                raise _make_last_error()
            self._address = address
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._length:
            _load_libc().munmap(self._address, self._length)

    @property
    def first_page(self) -> int:
        """The number of the mapping's first page in the address space."""
        return self._address // mmap.PAGESIZE

    def read_residency(self) -> bytes:
        """Return one byte for each page, whose lowest bit is set if the page is resident; raise OSError if unknown."""
        if not self._length:
            return b""
        states = ctypes.create_string_buffer(self.pages)
        if _load_libc().mincore(self._address, self._length, states) != 0:
            raise _make_last_error()
        return states.raw

    def populate_page_table(self) -> bool:
        """Populate the page table with all pages, without readahead; return whether the kernel supports this."""
        if not self._length:
            return True
        _load_libc().madvise(self._address, self._length, _MADV_RANDOM)
        return bool(_load_libc().madvise(self._address, self._length, _MADV_POPULATE_READ) == 0)

    def lock(self) -> bool:
        """Lock all pages in memory for as long as the file is mapped; return whether this user is allowed to.

        The kernel reclaims pages that have not been touched for a while, on some hosts long before memory is short.
        """
        if not self._length:
            return True
        _load_libc().madvise(self._address, self._length, _MADV_RANDOM)  # Without it, mlock would read ahead.
        return bool(_load_libc().mlock(self._address, self._length) == 0)


@lru_cache
def _load_libc() -> ctypes.CDLL:
    """Return the C library with the signatures of the calls that are used here."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    libc.mlock.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return libc


def _make_last_error() -> OSError:
    error_number = ctypes.get_errno()
    return OSError(error_number, os.strerror(error_number))
