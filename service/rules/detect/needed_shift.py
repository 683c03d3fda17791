"""Decides by how many standard deviations a change has to shift the ranks of a series to be certain."""

from __future__ import annotations

_SHORT_SIDE, _LONG_SIDE = 20, 48
"""Points of a side up to which it counts as short, and from which it counts as long."""
_SHORT_SHIFT, _LONG_SHIFT = 4.3, 3.7
"""The shift, in standard deviations, that a short side needs and that a long side needs; interpolated in between."""
MAX_LACK_IN_DOUBT = 1.0
"""A shift that is too small by at most this many standard deviations is in doubt while more runs can settle it."""


def find_needed_shift(n_shorter: int) -> float:
    """Return the shift, in standard deviations, that makes a change certain if its shorter side has this many points.

    A series has many short segments, so a short side needs a larger shift. The bounds are calibrated by simulation for
    every position and length, with a test after each run: see docs/explanation/detection.md.
    """
    fraction = min(1.0, max(0.0, (n_shorter - _SHORT_SIDE) / (_LONG_SIDE - _SHORT_SIDE)))
    return _SHORT_SHIFT + fraction * (_LONG_SHIFT - _SHORT_SHIFT)
