"""The page cache as a declared state: files are put out of it, and that they are out is checked, not assumed."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from runner.errors import FaultwatchError
from runner.mapped_files.residency import evict, residency


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
            resident, pages = evict(descriptor)
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
        return residency(descriptor)
    finally:
        os.close(descriptor)
