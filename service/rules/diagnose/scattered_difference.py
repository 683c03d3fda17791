"""Decides whether a difference is scattered over many lines, as when memory is only laid out differently."""

from __future__ import annotations

from collections.abc import Set

from runner.contract.diagnosis import Difference, FaultCause

_HEAP_CAUSES = frozenset({FaultCause.AFTER_BRK, FaultCause.AFTER_MUNMAP})
"""Memory that allocators give back when much of it is free, which depends on where the heap begins."""
_MIN_GATHERED_SHARE = 0.5
"""If the leading lines of all causes have less than this share of the difference together, it is scattered."""


def is_scattered(difference: Difference, files: Set[str]) -> bool:
    """Return whether the leading lines of the causes have a small part in a difference of several causes.

    Where an unchanged line touches heap again, the heap only had another size when it shrank.

    Parameters
    ----------
    files
        The files that the change alters.
    """
    growth = difference.faults
    gathered = sum(
        abs(part.place_faults)
        for part in difference.parts
        if part.faults * growth > 0 and part.place and (part.cause not in _HEAP_CAUSES or part.source_file in files)
    )
    return len(difference.parts) > 1 and gathered < _MIN_GATHERED_SHARE * abs(growth)
