"""Detects level changes of noisy series; a further point costs the same however long the series is."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from service.rules.detect import ramps, wander
from service.rules.detect.change_points import ChangePoints
from service.rules.detect.clipped_series import CLIP_LOOKAHEAD, ClippedSeries
from service.rules.detect.distinct_levels import DistinctLevels
from service.rules.detect.exchangeability import MAX_POINTS_PER_SIDE
from service.rules.detect.level_change import LevelChange
from service.rules.detect.measured_change import POSITION_POINTS, MeasuredChange, measure_changes
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.newest_points import MAX_NEWEST_POINTS, find_newest_change
from service.rules.detect.noise import (
    LARGE_STEP_SIGMA,
    Noise,
    count_points_for_noise,
    estimate_noise,
    estimate_outlier_distance,
    sort_sizes,
)
from service.rules.detect.suspicions import is_suspicion
from service.rules.detect.wander import POINTS_AFTER, POINTS_BEFORE, Shape, find_needed_margin, is_jump

UPDATE_POINTS = 32  # points after which the partition is updated
EARLY_UPDATE_POINTS = 8  # the same while a series is shorter than MAX_EARLY_POINTS
MAX_EARLY_POINTS = 256
MAX_STORED_MARGINS = 256  # margins of recent changes that are stored
MIN_POINTS = 16  # points that the first partition needs
SETTLED_POINTS = CLIP_LOOKAHEAD + 2 * POINTS_AFTER + POSITION_POINTS + 16  # a change is final after as many points


_position = attrgetter("at")


class _GroupingState(NamedTuple):
    """The state of grouping after a measured change: how many changes are judged, and the group that is open."""

    closed: int
    group: ramps.ChangeGroup


class NoisySeries:
    """The level changes of a noisy series, updated as points are appended.

    The result depends only on the values, not on how they were divided into calls of :meth:`extend`.
    """

    def __init__(self) -> None:
        self.n = 0
        self.noise = Noise(0.0, 0.0, 0)
        self._values: Floats = np.zeros(64)
        self._discard_results()

    def _discard_results(self) -> None:
        """Discard everything that was computed with the former estimate of the noise."""
        self._done = 0
        self._outlier: float | None = None
        self._clipped = ClippedSeries()
        self._path = ChangePoints(self.noise)
        self._distinct = DistinctLevels(self.noise)
        self._rows: list[MeasuredChange] = []
        self._states: list[_GroupingState] = []
        self._margins: dict[tuple[object, ...], float] = {}  # by the change, the runs that it explains, the others
        self._closed: list[LevelChange] = []
        self._open: list[LevelChange] = []
        self.slow_ramps: dict[int, LevelChange] = {}  # by the start of the level that climbs
        self._unchanged = 0  # how many of the first changes are as find_updates() returned them last

    def extend(self, new: Floats) -> None:
        """Append finite values."""
        n = self.n + len(new)
        if n > len(self._values):
            longer = np.zeros(n + n // 2)
            longer[: self.n] = self._values[: self.n]
            self._values = longer
        self._values[self.n : n] = new
        self.n = n
        if count_points_for_noise(n) != self.noise.points:
            self._estimate_noise(self._values[: count_points_for_noise(n)])
        until = n - n % (EARLY_UPDATE_POINTS if n < MAX_EARLY_POINTS else UPDATE_POINTS)
        if until >= MIN_POINTS and until > self._done and self.noise.sigma > 0:
            self._update_partition(until)

    def _estimate_noise(self, head: Floats) -> None:
        """Estimate the noise again, and discard the changes that were found by the former estimate."""
        self.noise = estimate_noise(head, sort_sizes(head[1:] - head[:-1]))
        self._discard_results()

    def _update_partition(self, until: int) -> None:
        """Update the partition for the first ``until`` points, then measure, group and check what has changed in it."""
        # Propose positions, and find how many of them are as before.
        values = self._values[:until]
        self._clipped.update(values, self.noise)
        n_unchanged = self._path.update(self._clipped, until)
        proposals = self._path.positions
        settled, self._done = self._done - SETTLED_POINTS, until
        while n_unchanged and (proposals[n_unchanged] if n_unchanged < len(proposals) else until) > settled:
            n_unchanged -= 1

        # Drop those across which the levels are not distinct.
        n_unchanged = self._distinct.update(values, proposals, max(0, n_unchanged - 1))
        changes = self._distinct.changes
        if n_unchanged == len(changes) == len(self._rows):
            self._find_slow_ramps(len(self._rows))
            return

        # Measure the changes that differ from those before, with their neighbours, and judge them.
        n_unchanged = min(max(0, n_unchanged - 2), len(self._rows))
        edges = [
            changes[n_unchanged - 1].at if n_unchanged else 0,
            *(change.at for change in changes[n_unchanged:]),
            until,
        ]
        self._rows[n_unchanged:] = measure_changes(
            values,
            self._clipped.sums[: until + 1],
            np.array(edges),
            begin=self._rows[n_unchanged - 1].at if n_unchanged else 0,
            noise=self.noise,
            in_doubt=[change.in_doubt for change in changes[n_unchanged:]],
        )
        self._group_changes(n_unchanged)
        self._find_slow_ramps(n_unchanged)

    def _find_slow_ramps(self, same: int) -> None:
        """Look for slow ramps between large changes, from the one before the measured change with index ``same`` on.

        Small changes do not end a ramp, because a slow one has many of them.
        """
        while same and not self._is_large(self._rows[same - 1]):
            same -= 1
        begins = [self._rows[same - 1].at if same else 0]
        begins += [row.at for row in self._rows[same:] if self._is_large(row)]
        self.slow_ramps = {begin: climb for begin, climb in self.slow_ramps.items() if begin < begins[0]}
        for begin, end in pairwise([*begins, self._done]):
            climb = ramps.find_slow_ramp(self._values[begin:end], begin, self.noise)
            if climb:
                self.slow_ramps[begin] = climb

    def _is_large(self, row: MeasuredChange) -> bool:
        """Return whether a change is so large that it is considered by itself."""
        return abs(row.after - row.before) >= LARGE_STEP_SIGMA * self.noise.sigma

    def _group_changes(self, same: int) -> None:
        """Group the measured changes from index ``same`` on, and keep those that explain the runs around them."""
        del self._states[same:]
        del self._closed[self._states[-1].closed if same else 0 :]
        self._unchanged = min(self._unchanged, len(self._closed))
        group = self._states[-1].group if same else None
        for row in self._rows[same:]:
            if group is None or row.in_doubt or not ramps.joins_group(group, row, self.noise.sigma):
                self._closed += ramps.list_group_changes(group, self.noise.sigma, self._confirm_change)
                group = ramps.start_group(row)
            else:
                group = ramps.extend_group(group, row, self.noise.sigma)
            self._states.append(_GroupingState(len(self._closed), group))
        self._open = ramps.list_group_changes(group, self.noise.sigma, self._confirm_change)

    def _confirm_change(self, change: LevelChange, begin: int, end: int) -> LevelChange | None:
        """Return a change if it explains the runs around it better than a host that wanders."""
        change = replace(change, high=min(change.high, self._done - 1))
        shape = Shape(change.low, change.high) if change.rule == "ramp" else Shape(change.index, change.index)

        # By the runs around it and the other changes there; but no later change withdraws it.
        largest_margin = -math.inf
        size, fewest = abs(change.after - change.before), min(change.index - begin, end - change.index)
        if is_jump(size, self.noise) and not change.wants_rerun:
            return change
        for first, last in self._list_windows(shape):
            margin = self._compute_margin(shape, (begin, end), first, last)
            if not change.wants_rerun:
                small_steps = self._list_small_steps(change.index, first, last)
                if margin >= find_needed_margin(size, fewest, self.noise, small_steps):
                    return change
            largest_margin = max(largest_margin, margin)
        return replace(change, wants_rerun=True) if is_suspicion(largest_margin, self._done - shape.high) else None

    def _list_windows(self, shape: Shape) -> list[tuple[int, int]]:
        """Return from where to where the runs lie that a change is judged by, in turns.

        Beyond a much larger change the runs may have another noise, in which this one drowns; and a later change may
        begin at the next one of the rows, certain or in doubt, or with some of the newest runs.
        """
        first, last = max(0, shape.low - POINTS_BEFORE), min(self._done, shape.high + POINTS_AFTER)
        following = bisect_right(self._rows, shape.high, key=_position)
        ends = [self._rows[following].at] if following < len(self._rows) else []
        if last == self._done:
            ends += range(last - EARLY_UPDATE_POINTS, last - UPDATE_POINTS, -EARLY_UPDATE_POINTS)
        jump_before = next((row.at for row in reversed(self._list_rows(first, shape.low)) if self._is_jump(row)), first)
        jump_after = next((row.at for row in self._list_rows(shape.high + 1, last) if self._is_jump(row)), last)
        return list(
            dict.fromkeys(
                [
                    (first, last),
                    *((first, end) for end in ends if shape.high < end < last),
                    (jump_before, jump_after),
                ]
            )
        )

    def _list_rows(self, first: int, end: int) -> list[MeasuredChange]:
        """Return the rows at positions from ``first`` on and before ``end``."""
        return self._rows[bisect_left(self._rows, first, key=_position) : bisect_left(self._rows, end, key=_position)]

    def _list_small_steps(self, at: int, first: int, last: int) -> list[float]:
        """Return the sizes of the small certain steps between ``first`` and ``last``, without the one at ``at``."""
        rows = self._list_rows(first + 1, last)
        return [row.after - row.before for row in rows if row.at != at and not (row.in_doubt or self._is_large(row))]

    def _is_jump(self, row: MeasuredChange) -> bool:
        """Return whether a change is so large that the runs on both sides may have another noise."""
        return not row.in_doubt and is_jump(abs(row.after - row.before), self.noise)

    def _compute_margin(self, shape: Shape, levels: tuple[int, int], first: int, last: int) -> float:
        """Return the margin of a change over wander in the runs from ``first`` on and before ``last``.

        ``levels`` are the begin of the level before it and the end of the one after: the other changes lie there and
        outside.
        """
        begin, end = levels
        apart = [row for row in self._list_rows(first + 1, last) if row.at <= begin or row.at >= end]
        others = [Shape(row.at, row.at) for row in apart]
        key = (shape, first, last, *others)
        margin = self._margins.get(key)
        if margin is None:
            margin = wander.compute_margin_over_wander(
                self._values[first:last] / self.noise.sigma, first, shape, self.noise, others
            )
            if len(self._margins) >= MAX_STORED_MARGINS:
                self._margins.clear()
            self._margins[key] = margin
        return margin

    def find_updates(self) -> tuple[int, list[LevelChange]]:
        """Return how many of the first changes are the same as at the previous call, and all changes after those."""
        unchanged, self._unchanged = self._unchanged, len(self._closed) + len(self._open)
        return unchanged, self._closed[unchanged:] + self._open[max(0, unchanged - len(self._closed)) :]

    def find_change_in_newest_points(self, reruns: Sequence[float] = ()) -> LevelChange | None:
        """Return a change among the points after the last one; ``reruns`` are all measurements of the newest point."""
        certain = next((change.at for change in reversed(self._distinct.changes) if not change.in_doubt), 0)
        begin = max(certain, self.n - MAX_NEWEST_POINTS - MAX_POINTS_PER_SIDE)
        change = find_newest_change(
            self._values[begin : self.n].tolist(), self.noise, self._get_outlier_distance, reruns
        )
        if change is None:
            return None
        change = replace(change, index=begin + change.index, low=begin + change.low, high=begin + change.high)
        if not (change.wants_rerun or self._is_newest_certain(change, reruns)):
            change = replace(change, wants_rerun=True)
        return change

    def _is_newest_certain(self, change: LevelChange, reruns: Sequence[float]) -> bool:
        """Return whether a change among the newest points explains the runs before and after it better than wander."""
        if is_jump(abs(change.after - change.before), self.noise):
            return True
        at = change.index
        first = max(0, at - POINTS_BEFORE)
        runs = self._values[first : self.n]
        if reruns:
            runs = np.concatenate([runs[:-1], reruns])
        others = [Shape(row.at, row.at) for row in self._list_rows(first + 1, at) if not row.in_doubt]
        margin = wander.compute_margin_over_wander(runs / self.noise.sigma, first, Shape(at, at), self.noise, others)
        # How few the newest runs are was judged when they were found.
        size, small_steps = abs(change.after - change.before), self._list_small_steps(at, first, at)
        return margin >= find_needed_margin(size, at - first, self.noise, small_steps)

    def _get_outlier_distance(self) -> float:
        """Return the distance that outliers of this series reach, computed at the first call."""
        if self._outlier is None:
            self._outlier = estimate_outlier_distance(self._values[: self.noise.points])
        return self._outlier
