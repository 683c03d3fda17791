"""Detects level changes of series whose samples repeat to the fault: there, every change of the value is one."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.detect.level_change import LevelChange, Number, format_level

REPEATING = 0.9  # share of the repeatedly sampled points of which more than half of the samples must agree


class ExactSeries:
    """The level changes of a series of points with samples, updated as points are appended.

    If no more than half of a point's samples agree and the previous level is among them, the point is ignored;
    otherwise its value counts, and a rerun is requested. Numbers are compared as Python numbers, so exactly, also
    beyond 2**53.
    """

    def __init__(self) -> None:
        self.changes: list[LevelChange] = []
        self._level: Number | None = None
        self.points = self._sampled = self._agreeing = 0

    @property
    def holds(self) -> bool:
        """Whether the points repeat well enough, and change seldom enough, for every change to be a level change."""
        if self._sampled == 0 or self._agreeing < REPEATING * self._sampled:
            return False
        return self.points < 16 or len(self.changes) <= self.points // 2

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> None:
        """Append points with their samples."""
        for value, point in zip(values, samples, strict=True):
            self._add(value, point)

    def _add(self, value: Number, point: Sequence[Number]) -> None:
        # A stray sample casts no doubt on the level: on a busy machine, one execution in some hundred is disturbed.
        agree = not point or 2 * sum(sample == value for sample in point) > len(point)
        if len(point) > 1:
            self._sampled += 1
            self._agreeing += agree
        level = self._level
        if level is None:
            self._level = value
        elif value != level and (agree or level not in point):
            self.changes.append(_change(self.points, level, value, agree and len(point) > 1))
            self._level = value
        self.points += 1


def _change(index: int, before: Number, after: Number, sure: bool) -> LevelChange:
    why = (
        "every sample repeats to the fault on both sides, so any change is a drift"
        if sure
        else "the samples before repeat to the fault, but no two measurements of this point agree yet"
    )
    evidence = f"{format_level(before)} → {format_level(after)}: {why}"
    return LevelChange(index, before, after, index, index, "exact", evidence, wants_rerun=not sure)
