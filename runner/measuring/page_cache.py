"""The page cache as a declared state: files are put out of it, and that they are out is checked, not assumed."""

import ctypes
import mmap
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from runner.errors import FaultwatchError

_PROT_READ, _MAP_SHARED = 1, 1
_MAP_FAILED = ctypes.c_void_p(-1).value


class StaysWarm(FaultwatchError):
    """A file cannot be put out of memory, so a cold case cannot be measured."""


def make_cold(files: Iterable[Path], *, within: Path | None = None) -> None:
    """Drop all pages of some files from memory.

    Parameters
    ----------
    within
        The only folder whose files may be dropped; None for any. Untrusted code must not choose files of the host.

    Pages that a running program maps cannot be dropped, nor pages of a file system that lives in memory.

    Raises
    ------
    StaysWarm
        Where pages stay, so that a measurement would not be a cold one; names the file and how much of it stays. Also
        where it is a folder, a pipe or a device.
    """
    for file in files:
        if within is not None and not file.resolve().is_relative_to(within.resolve()):
            raise FaultwatchError(f"[run] files: {file} does not lie in the build", "name files of the build only")
        # Not blocking: the tree is a stranger's, and opening a pipe would wait for its other end for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StaysWarm(f"{file} is no file that can be put out of memory", "name files in [run] files")
            os.fsync(descriptor)  # A page that was not written yet cannot be dropped.
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            resident, pages = _residency(descriptor)
        finally:
            os.close(descriptor)
        if resident:
            raise StaysWarm(
                f"{file}: {resident} of {pages} pages stay in memory, so this cannot be a cold start",
                "end what has the file mapped, or name a file that only this program uses",
            )


def resident_pages(file: Path) -> tuple[int, int]:
    """Return how many pages of a file are in memory, and how many it has.

    The kernel tells this only to those who may write the file or own it; to others every page is said to be there.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return _residency(descriptor)
    finally:
        os.close(descriptor)


def _residency(descriptor: int) -> tuple[int, int]:
    length = os.fstat(descriptor).st_size
    if length == 0:
        return 0, 0
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]
    # Mapping a file reads nothing of it; Python's own mmap would not give away the address of a read-only mapping.
    address = libc.mmap(None, length, _PROT_READ, _MAP_SHARED, descriptor, 0)
    if address == _MAP_FAILED:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    pages = -(-length // mmap.PAGESIZE)
    states = ctypes.create_string_buffer(pages)
    try:
        if libc.mincore(address, length, states) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        libc.munmap(address, length)
    return sum(state & 1 for state in states.raw), pages
