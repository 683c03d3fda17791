"""How the pages of a file lie in the page cache, as the kernel tells root: /proc/kpageflags."""

import os
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

from runner.mapped_files.residency import Mapped

_PAGEMAP, _FLAGS = "/proc/self/pagemap", "/proc/kpageflags"
_FRAME = (1 << 55) - 1
_WRONG = 1 << 15 | 1 << 16 | 1 << 9
"""KPF_COMPOUND_HEAD and KPF_COMPOUND_TAIL, part of a folio of several pages; and KPF_RECLAIM, which for a page that is
not being written is the mark for reading ahead."""

_LOOKS = 3


def lie_plainly(descriptor: int) -> bool | None:
    """Tell whether each page of a file is in memory, a folio by itself, and not marked for reading ahead.

    Returns
    -------
    bool or None
        None where the kernel does not tell: it does so to root only.

    Notes
    -----
    The kernel moves pages now and then, and a frame that was looked up may be another file's when it is looked at. So
    what is wrong is looked at again.
    """
    found = _look(descriptor)
    for _ in range(_LOOKS - 1):
        if found:
            break
        found = _look(descriptor)
    return found


def _look(descriptor: int) -> bool | None:
    try:
        with Mapped(descriptor) as mapped:
            if not all(state & 1 for state in mapped.resident()):
                return False
            frames = _frames(mapped)
        return None if frames is None else not any(flag & _WRONG for flag in _flags(frames))
    except OSError:
        return None


def _frames(mapped: Mapped) -> list[int] | None:
    """Return the numbers of the page frames of a file; None where the kernel does not tell."""
    if not mapped.pages:
        return []
    if not mapped.populate():
        return None
    with _opened(_PAGEMAP) as pagemap:
        entries = array("Q", os.pread(pagemap, 8 * mapped.pages, 8 * mapped.first_page))
    frames = [entry & _FRAME for entry in entries]
    return frames if all(frames) else None  # Who is not root is shown no numbers.


def _flags(frames: list[int]) -> Iterator[int]:
    with _opened(_FLAGS) as flags:
        for first, number in _runs(frames):
            yield from array("Q", os.pread(flags, 8 * number, 8 * first))


@contextmanager
def _opened(name: str) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _runs(frames: list[int]) -> Iterator[tuple[int, int]]:
    """Yield stretches of successive numbers: where each begins, and how long it is."""
    starts = [0, *(place for place, (one, other) in enumerate(pairwise(frames), 1) if other != one + 1), len(frames)]
    for start, end in pairwise(starts):
        if end > start:
            yield frames[start], end - start
