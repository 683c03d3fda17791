"""Detects level changes of series that mostly repeat but have no samples: a new value counts once it recurs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from service.rules.detect.level_change import LevelChange, Number, format_level

SURE = -4.0  # log10 of the probability that successive blips pass for a change
YOUNG = 4  # points that a new level needs before two points off it are a change


class RepeatingSeries:
    """The level changes of a series without spread, updated as points are appended.

    A level is the interval of its values, mostly a single value. Two successive points outside it on one side are a
    change; more are needed where single blips have been frequent or the level is too young. If only the newest point is
    outside, it is returned as a change that needs a rerun.
    """

    def __init__(self) -> None:
        self._confirmed: list[LevelChange] = []
        self._low: Number = 0
        self._high: Number = 0
        self._run: list[Number] = []
        self.points = self._blips = 0
        self._age = self._off = 0  # points at this level, and points that strayed from it

    def extend(self, values: Sequence[Number]) -> None:
        """Append points."""
        for value in values:
            if value == self._low == self._high and not self._run and self.points:
                self._age += 1
            else:
                self._add(value)
            self.points += 1

    def _add(self, value: Number) -> None:
        if self.points == 0:
            self._low = self._high = value
        width = self._high - self._low
        if self._low - width <= value <= self._high + width:
            self._end_run()
            self._widen([value])
            self._age += 1
            return
        if self._run and (self._run[-1] > self._high) != (value > self._high):
            self._end_run()
        self._run.append(value)
        if len(self._run) >= self._needed():
            self._confirmed.append(self._change(wants_rerun=False, ahead=1))
            self._low, self._high = min(self._run), max(self._run)
            self._age, self._off, self._run = len(self._run), 0, []

    def _widen(self, values: Sequence[Number]) -> None:
        self._low, self._high = min(self._low, *values), max(self._high, *values)

    def _end_run(self) -> None:
        """Count the run as blips, or as the level's own spread if the level is young or blips are many."""
        if not self._run:
            return
        self._off += len(self._run)
        if self._age < YOUNG or self._off > 0.2 * self._age:
            self._widen(self._run)
            self._age += len(self._run)
        else:
            self._blips += len(self._run)
        self._run = []

    def _needed(self) -> int:
        """Return how many successive points make a change, given how often single ones strayed."""
        known = 2 if self._age >= YOUNG or not self._confirmed else YOUNG
        if self._blips == 0:
            return known
        rate = min(0.5, self._blips / self.points)
        return max(known, math.ceil(SURE / math.log10(rate)))

    def _change(self, wants_rerun: bool, ahead: int) -> LevelChange:
        index = self.points + ahead - len(self._run)
        before, after = self._typical(), sorted(self._run)[len(self._run) // 2]
        why = (
            f"{len(self._run)} successive runs off a level that repeats"
            if not wants_rerun
            else "the previous level repeats; one more run will decide"
        )
        return LevelChange(
            index,
            before,
            after,
            index,
            index,
            "repeat",
            f"{format_level(before)} → {format_level(after)}: {why}",
            wants_rerun,
        )

    def _typical(self) -> Number:
        if self._low == self._high:
            return self._low
        return self._low + (self._high - self._low) / 2

    def changes(self, reruns: Sequence[Number] = ()) -> list[LevelChange]:
        """Return the changes; ``reruns`` are all measurements of the newest point."""
        if not self._run:
            return list(self._confirmed)
        outside = sum(not self._low <= value <= self._high for value in reruns)
        sure = len(reruns) > 1 and outside == len(reruns)
        if len(reruns) > 1 and 2 * outside <= len(reruns):
            return list(self._confirmed)
        return [*self._confirmed, self._change(wants_rerun=not sure, ahead=0)]
