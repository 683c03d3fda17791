"""Evicts files from the page cache for cold cases, and verifies the eviction."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from runner.mapped_files.residency import evict_pages, measure_residency
from runner.measuring.environment_change import InvalidSession
from runner.system.real_path import resolve_links


class EvictionError(InvalidSession):
    """A file cannot be evicted, so a cold case cannot be measured."""


class OutsideError(Exception):
    """The path of a file leads out of its build. The message names the file."""


def make_files_cold(files: Iterable[Path], *, allowed_folder: Path | None = None) -> None:
    """Evict all pages of these files from the page cache.

    Pages that a running program maps cannot be evicted, and neither can pages of a file system in memory.

    Parameters
    ----------
    allowed_folder
        The only folder whose files may be evicted; None for any. Untrusted code must not choose files of the host.

    Raises
    ------
    FileNotFoundError
        If a file does not exist.
    EvictionError
        If a file is a folder, a pipe or a device, if its file system refuses, or if pages of a file stay resident, so
        that the start would not be cold. The message names the file, and the number of these pages.
    OutsideError
        If a file lies outside of ``allowed_folder``.
    """
    for file in files:
        if allowed_folder is not None and not resolve_links(file).is_relative_to(resolve_links(allowed_folder)):
            raise OutsideError(f"{file} is not in the build's directory")
        # Without O_NONBLOCK, opening a pipe in an untrusted tree would wait for its other end for ever.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise EvictionError(
                    f"{file} is not a regular file, so it cannot be evicted",
                    "list only regular files in `files` of [run]",
                )
            try:
                resident_pages, pages = evict_pages(descriptor)
            except OSError as error:
                raise EvictionError(f"{file} cannot be evicted: {error.strerror}") from None
        finally:
            os.close(descriptor)
        if resident_pages:
            raise EvictionError(
                f"{file}: {resident_pages} of {pages} pages remained in memory, so this cannot be a cold start",
                "stop the programs that map the file, or use a file that only this program maps",
            )


def count_resident_pages(file: Path) -> tuple[int, int]:
    """Return how many pages of a file are resident, and how many the file has.

    The kernel shows this only to users who own the file or may write to it; to others, every page appears resident.
    """
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return measure_residency(descriptor)
    finally:
        os.close(descriptor)
