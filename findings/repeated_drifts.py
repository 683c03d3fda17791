"""Whether the drifts of a repeated history are the stored ones. Pure: no program is run here."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from findings.stored import LEAST_PERCENT, Drift, History

_FACTOR = 2
"""If counts cannot be the same, a drift may be half as large or twice as large as the stored one."""


class Verdict(StrEnum):
    """What a repetition says about one drift."""

    AGREES = "agrees"
    OTHER_SIZE = "other size"
    MISSING = "not found"
    UNKNOWN = "not stored"
    LEFT_OUT = "too small to compare"

    @property
    def holds(self) -> bool:
        """Return whether the repetition shows what was stored."""
        return self in {Verdict.AGREES, Verdict.LEFT_OUT}


class Line(Struct, frozen=True):
    """A drift as stored, as found, and whether they agree."""

    stored: Drift | None
    found: Drift | None
    verdict: Verdict


def compare(stored: History, found: History) -> list[Line]:
    """Compare the drifts of two measurements of the same range.

    With the same compiler and libc, the program has the same bytes, and at a path of the same length the same memory:
    every drift has to be found, at the same commit and with the same size to the fault. With others, and where a count
    is noisy, drifts of 1 % or more have to be found, at the same commit, with the same sign, and with at least half of
    the size and at most twice.
    """
    same_machine = found.machine.counts_like(stored.machine)
    left = list(found.drifts)
    lines = []
    for drift in stored.drifts:
        match = _match(drift, left)
        if match:
            left.remove(match)
        lines.append(Line(drift, match, _verdict(drift, match, exact=same_machine and drift.repeats)))
    lines += [Line(None, drift, _surplus(drift, exact=same_machine and drift.repeats)) for drift in left]
    return lines


def _match(drift: Drift, found: Sequence[Drift]) -> Drift | None:
    """Return the drift of the same case and metric that the same commits can have caused."""
    for other in found:
        same_series = (other.case, other.metric) == (drift.case, drift.metric)
        if same_series and drift.causes <= {other.commit, *other.candidates}:
            return other
    return None


def _verdict(stored: Drift, found: Drift | None, *, exact: bool) -> Verdict:
    if not exact and not stored.is_large:
        return Verdict.LEFT_OUT
    if found is None:
        return Verdict.MISSING
    if exact:
        return Verdict.AGREES if found.change == stored.change else Verdict.OTHER_SIZE
    # A negative ratio is another sign.
    similar = 1 / _FACTOR <= found.change / stored.change <= _FACTOR
    return Verdict.AGREES if similar else Verdict.OTHER_SIZE


def _surplus(found: Drift, *, exact: bool) -> Verdict:
    """Judge a drift that is not stored."""
    # What is just below the bound with one compiler can be just above it with another.
    small = found.percent is not None and abs(found.percent) < _FACTOR * LEAST_PERCENT
    return Verdict.LEFT_OUT if small and not exact else Verdict.UNKNOWN
