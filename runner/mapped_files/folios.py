"""Reads the state of a file's folios in the page cache from /proc/kpageflags, which the kernel shows to root only."""

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from runner.mapped_files.residency import RESIDENT_BIT, FileMapping

_PAGEMAP, _KPAGEFLAGS = "/proc/self/pagemap", "/proc/kpageflags"
_ENTRY_BYTES = 8
"""The bytes of an entry in ``/proc/self/pagemap`` and ``/proc/kpageflags``, which have one entry for each page."""
_FRAME_MASK = (1 << 55) - 1
_UNPREPARED_FLAGS = 1 << 15 | 1 << 16 | 1 << 9
"""KPF_COMPOUND_HEAD and KPF_COMPOUND_TAIL mark a page of a large folio. KPF_RECLAIM is the readahead mark, except on a
page under writeback."""

_MAX_ATTEMPTS = 3


def has_prepared_folios(descriptor: int) -> bool | None:
    """Return whether every page of a file is resident, a folio by itself, and not marked for readahead.

    Returns
    -------
    bool or None
        None if the kernel does not show the folios to this user.

    Notes
    -----
    The kernel migrates pages now and then, so a page frame can belong to another file by the time its flags are read.
    A negative result is therefore checked again.
    """
    is_prepared = _check_folios_once(descriptor)
    for _ in range(_MAX_ATTEMPTS - 1):
        if is_prepared:
            break
        is_prepared = _check_folios_once(descriptor)
    return is_prepared


def _check_folios_once(descriptor: int) -> bool | None:
    """Return whether all pages are resident, in folios of one page, and without the readahead mark.

    The pages are read once, without the repetition of :func:`has_prepared_folios`. None if they cannot be read.
    """
    try:
        with FileMapping(descriptor) as mapping:
            if not all(state & RESIDENT_BIT for state in mapping.read_residency()):
                return False
            frames = _read_page_frames(mapping)
        if frames is None:
            return None
        return not any(flags & _UNPREPARED_FLAGS for flags in _read_page_flags(frames))
    except OSError:
        return None


def _read_page_frames(mapping: FileMapping) -> list[int] | None:
    """Return the page frame numbers of a file; None if the kernel does not show them to this user."""
    if not mapping.pages:
        return []
    if not mapping.populate_page_table():
        return None
    with _open_file(_PAGEMAP) as pagemap:
        entries = array("Q", os.pread(pagemap, _ENTRY_BYTES * mapping.pages, _ENTRY_BYTES * mapping.first_page))
    frames = [entry & _FRAME_MASK for entry in entries]
    return frames if all(frames) else None  # Users other than root read zeros.


def _read_page_flags(frames: list[int]) -> Iterator[int]:
    """Yield the kernel's flags of page frames; those of consecutive frames are read at once."""
    with _open_file(_KPAGEFLAGS) as kpageflags:
        for first_frame, frame_count in _find_frame_ranges(frames):
            yield from array("Q", os.pread(kpageflags, _ENTRY_BYTES * frame_count, _ENTRY_BYTES * first_frame))


@contextmanager
def _open_file(name: str) -> Iterator[int]:
    """Open a file for reading within the context."""
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _find_frame_ranges(frames: list[int]) -> Iterator[tuple[int, int]]:
    """Yield each range of consecutive frames: its first frame and its length."""
    breaks = (index for index, (frame, next_frame) in enumerate(pairwise(frames), 1) if next_frame != frame + 1)
    starts = [0, *breaks, len(frames)]
    for start, end in pairwise(starts):
        if end > start:
            yield frames[start], end - start
