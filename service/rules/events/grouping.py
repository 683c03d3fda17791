"""Puts drifts of one cause at one place together. Pure.

The place of a commit's drift is a stretch of commits: one of them did it. The place of a drift that a configuration
change or something unknown did is a stretch of time on the hosts: it happened somewhere between the run before and the
run after. Drifts can have the same cause only where all their stretches share a point, so a stretch that merely touches
two others does not tie those together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from service.schemas.history import Cause, Number


@dataclass(frozen=True, slots=True)
class LocatedDrift:
    """What the place and the life of a drift depend on.

    Attributes
    ----------
    drift
        Its id.
    series
        Where it was seen; a shift of a whole suite has no series and is told by its own id.
    cause, detail
        What is blamed: beside the cause, which knobs changed how, or on which host something unknown happened.
    first, last
        The commits that can have done it, by position; at a configuration change, where that was seen.
    since, until
        When it happened, in seconds.
    before, after
        The two levels.
    spread
        Largest minus smallest sample within one level.
    worse
        Whether it is a regression.
    revision
        The first commit on the new level.
    returned
        Whether it is known as the return of a drift that was over.
    """

    drift: str
    series: int | str
    cause: Cause
    detail: str
    first: int
    last: int
    since: float
    until: float
    before: Number
    after: Number
    spread: Number
    worse: bool
    revision: str
    returned: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """What drifts of one event share, besides the place."""
        return self.cause.value, self.detail

    @property
    def whole_suite(self) -> bool:
        """Whether it is a shift of a whole suite, which has no series."""
        return isinstance(self.series, str)

    @property
    def stretch(self) -> tuple[float, float]:
        """Where it happened: from one commit to another, or from one moment to another."""
        return (self.first, self.last) if self.cause in {Cause.COMMIT, Cause.BOTH} else (self.since, self.until)

    @property
    def order(self) -> tuple[int, float, str]:
        """Place among the drifts of its series."""
        return self.last, self.until, self.drift


DriftGroup = tuple[LocatedDrift, ...]


def group_drifts(traces: Iterable[LocatedDrift]) -> list[DriftGroup]:
    """Put the drifts of each event together, in the order of the history; the order of what is given has no say."""
    by_key: dict[tuple[str, str], list[LocatedDrift]] = defaultdict(list)
    for trace in traces:
        by_key[trace.key].append(trace)
    groups = [found for alike in by_key.values() for found in _stabbed(alike)]
    return sorted((tuple(sorted(found, key=lambda trace: trace.order)) for found in groups), key=lambda g: g[0].order)


def overlaps(one: tuple[float, float], other: tuple[float, float]) -> bool:
    """Tell whether two stretches share a point."""
    return one[0] <= other[1] and other[0] <= one[1]


def may_be_same(one: LocatedDrift, other: LocatedDrift) -> bool:
    """Tell whether two findings in one series can be of the same drift, also where it was blamed differently."""
    commits = {Cause.COMMIT, Cause.BOTH}
    if one.cause in commits and other.cause in commits:
        return overlaps((one.first, one.last), (other.first, other.last))
    if Cause.COMMIT in {one.cause, other.cause}:
        return False
    return overlaps((one.since, one.until), (other.since, other.until))


def _stabbed(traces: Iterable[LocatedDrift]) -> Iterable[list[LocatedDrift]]:
    """Yield the fewest groups in which all stretches share a point: those open where the next stretch ends."""
    found: list[LocatedDrift] = []
    end = float("-inf")
    for trace in sorted(traces, key=lambda trace: (trace.stretch[1], trace.drift)):
        if found and trace.stretch[0] > end:
            yield found
            found = []
        if not found:
            end = trace.stretch[1]
        found.append(trace)
    if found:
        yield found
