"""Series whose samples repeat to the fault: every change of the value is a change of level."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.detect.level_change import LevelChange, Number, format_level

REPEATING = 0.9  # part of the repeatedly sampled points of whose samples more than half must agree


class ExactSeries:
    """The changes of a series of points with samples, kept up to date.

    A point of whose samples no more than half agree says nothing where the level before it is among them; else its
    value counts, and a rerun is asked for. Numbers are compared as Python numbers, so exactly, beyond 2**53 too.
    """

    def __init__(self) -> None:
        self.drifts: list[LevelChange] = []
        self._level: Number | None = None
        self.points = self._sampled = self._agreeing = 0

    @property
    def holds(self) -> bool:
        """Whether the points repeat well enough, and change seldom enough, for every change to be one of level."""
        if self._sampled == 0 or self._agreeing < REPEATING * self._sampled:
            return False
        return self.points < 16 or len(self.drifts) <= self.points // 2

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> None:
        """Append points with their samples."""
        for value, point in zip(values, samples, strict=True):
            self._add(value, point)

    def _add(self, value: Number, point: Sequence[Number]) -> None:
        # A stray sample is no doubt about the level: on a busy machine one execution in some hundred is disturbed.
        agree = not point or 2 * sum(sample == value for sample in point) > len(point)
        if len(point) > 1:
            self._sampled += 1
            self._agreeing += agree
        level = self._level
        if level is None:
            self._level = value
        elif value != level and (agree or level not in point):
            self.drifts.append(_drift(self.points, level, value, agree and len(point) > 1))
            self._level = value
        self.points += 1


def _drift(index: int, before: Number, after: Number, sure: bool) -> LevelChange:
    why = (
        "every sample repeats to the fault on both sides, so any change is a drift"
        if sure
        else ("the samples before repeat to the fault; this point was not measured twice with the same result")
    )
    evidence = f"{format_level(before)} → {format_level(after)}: {why}"
    return LevelChange(index, before, after, index, index, "exact", evidence, wants_rerun=not sure)
