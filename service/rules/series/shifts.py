"""Finds the drifts of one series: where its level changes, and what that is blamed on. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from runner.contract import Kind
from runner.contract.level import median
from service.rules import detect
from service.rules.same_bytes import is_no_fact
from service.rules.series.blame import blame
from service.rules.series.path import Point, Points, Trend
from service.schemas.history import Cause, Direction, Number

_DETECTOR_KINDS: dict[Kind, Literal["count", "rate", "time", "ratio"]] = {
    Kind.COUNT: "count",
    Kind.SIZE: "count",
    Kind.RATE: "rate",
    Kind.TIME: "time",
    Kind.RATIO: "ratio",
}


Baselines = Mapping[UUID, tuple[Number, Number] | None]
"""Runs from which a series is judged anew, because the level they begin is as it should be: with the levels before and
after of the step up to it; None where a ramp led there."""
_NONE: Baselines = MappingProxyType({})
_LAST = 5
"""Points that show on which level a stretch ends."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A change of level between two neighbours of a sequence.

    Attributes
    ----------
    old, new
        The points on the two levels; the change lies between the last of the old and the first of the new ones.
    after_position, up_to_position
        The commits that can have done it: after the one position, up to and with the other.
    found
        What the detector says.
    """

    old: Points
    new: Points
    cause: Cause
    after_position: int
    up_to_position: int
    found: detect.Drift

    @property
    def before(self) -> Point:
        """The last point on the old level."""
        return self.old[-1]

    @property
    def after(self) -> Point:
        """The first point on the new level."""
        return self.new[0]

    @property
    def goes_up(self) -> bool:
        """Whether the new level is the higher one."""
        return self.found.after > self.found.before

    @property
    def spread(self) -> Number:
        """Largest minus smallest sample within one level: the larger of both sides."""
        return max(_spread(self.old), _spread(self.new))

    def is_also(self, other: Shift) -> bool:
        """Tell whether this is the same change, seen in another sequence of points."""
        if self.cause is not other.cause or self.goes_up != other.goes_up:
            return False
        if self.cause is Cause.COMMIT:
            return self.after_position < other.up_to_position and other.after_position < self.up_to_position
        return (self.before.environment, self.after.environment) == (other.before.environment, other.after.environment)


def find_shifts(trend: Trend, kind: Kind, baselines: Baselines = _NONE) -> list[Shift]:
    """Judge the path, then the sequences beside it; a change that was found before is not told again."""
    shifts = list(_shifts(trend.path, kind, baselines))
    for sequence in trend.beside:
        found = _shifts(sequence, kind, baselines)
        shifts += [shift for shift in found if not any(shift.is_also(known) for known in shifts)]
    return shifts


def direction(shift: Shift, better: Literal["lower", "higher"]) -> Direction:
    """Say whether the change is for the better."""
    return Direction.IMPROVEMENT if shift.goes_up == (better == "higher") else Direction.REGRESSION


def percent(before: Number, after: Number) -> float | None:
    """Return the change in percent of the old level; None where that is zero."""
    return None if before == 0 else 100 * (after - before) / abs(before)


def _shifts(sequence: Points, kind: Kind, baselines: Baselines) -> Iterator[Shift]:
    found = list(_find(sequence, kind, baselines))
    edges = [0, *(drift.index for drift in found), len(sequence)]
    for drift, (start, _), (_, end) in zip(found, pairwise(edges[:-1]), pairwise(edges[1:]), strict=True):
        # Where the place of the change is not certain, everything that differs across that stretch is to blame.
        outer_before, outer_after = sequence[max(drift.low - 1, 0)], sequence[drift.high]
        last, first = sequence[drift.index - 1], sequence[drift.index]
        if kind is Kind.COUNT and is_no_fact(drift.after - drift.before, last.material, first.material):
            continue
        yield Shift(
            old=sequence[start : drift.index],
            new=sequence[drift.index : end],
            cause=blame(outer_before, outer_after),
            after_position=outer_before.position,
            up_to_position=outer_after.position,
            found=drift,
        )


def _find(sequence: Points, kind: Kind, baselines: Baselines) -> Iterator[detect.Drift]:
    """Judge each stretch between baselines for itself; the step up to a baseline stays told as what it was."""
    cuts = [place for place, point in enumerate(sequence) if place and point.run_id in baselines]
    for start, end in pairwise([0, *cuts, len(sequence)]):
        found = detect.find_drifts(
            [point.value for point in sequence[start:end]],
            samples=[point.samples for point in sequence[start:end]],
            kind=_DETECTOR_KINDS[kind],
        )
        yield from (_moved(drift, start) for drift in found)
        step = baselines[sequence[end].run_id] if end < len(sequence) else None
        if step is not None and _is_before(sequence[start:end], *step):
            evidence = f"{step[0]} → {step[1]}: as it should be, so later runs are measured from here"
            yield detect.Drift(end, *step, end, end, "expected", evidence)


def _moved(drift: detect.Drift, by: int) -> detect.Drift:
    return replace(drift, index=drift.index + by, low=drift.low + by, high=drift.high + by)


def _is_before(stretch: Points, before: Number, after: Number) -> bool:
    """Tell whether a stretch ends before a step: runs that came later may have shown that the step was earlier."""
    level = median([point.value for point in stretch[-_LAST:]])
    assert level is not None
    return abs(level - before) < abs(level - after)


def _spread(points: Iterable[Point]) -> Number:
    samples = [value for point in points for value in point.samples]
    return max(samples) - min(samples)
