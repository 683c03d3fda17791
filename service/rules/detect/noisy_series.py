"""Detects level changes of noisy series; the cost of a further point does not depend on the length of the series."""

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
from service.rules.detect.distinct_levels import MAX_SPURIOUS_PROPOSALS, DistinctLevels
from service.rules.detect.level_change import LevelChange
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
from service.rules.detect.noisy_suspicions import is_suspicion
from service.rules.detect.normal_scores import MAX_POINTS_PER_SIDE
from service.rules.detect.position_and_levels import POSITION_POINTS, MeasuredChange, measure_changes
from service.rules.detect.wander import (
    POINTS_AFTER,
    POINTS_BEFORE,
    Shape,
    exceeds_wander,
    find_needed_margin,
    is_jump,
)

UPDATE_POINTS = 32  # points after which the partition is updated
EARLY_UPDATE_POINTS = 8  # the same while a series is shorter than MAX_EARLY_POINTS
MAX_EARLY_POINTS = 256
MAX_STORED_MARGINS = 256  # margins of recent changes that are stored
MIN_POINTS = 16  # points that the first partition needs
MARGIN_FACTOR_AFTER_CHANGES = 1.5
"""By how much larger the margin must be if a change is judged only by the runs since the change before it, although
several changes lie before these runs: they may show how far the host wanders."""
SETTLED_POINTS = CLIP_LOOKAHEAD + 2 * POINTS_AFTER + POSITION_POINTS + 16  # points after which a change is final


_get_position = attrgetter("position")


class _GroupingState(NamedTuple):
    """The state of grouping after a measured change: how many changes are judged, and the group still open."""

    n_judged: int
    group: ramps.ChangeGroup


class _Window(NamedTuple):
    """A range of runs by which a change is judged, and the factor by which the needed margin is larger for it."""

    start: int
    stop: int
    margin_factor: float = 1.0


class NoisySeries:
    """The level changes of a noisy series, updated as points are appended.

    The result depends only on the values, not on how they were divided into calls of :meth:`extend`.
    """

    def __init__(self) -> None:
        self.n = 0
        self.noise = Noise(sigma=0.0, rho=0.0, points=0)  # estimated from no points yet
        self._values: Floats = np.zeros(64)
        self._discard_results()

    def _discard_results(self) -> None:
        """Discard everything that was computed with the former estimate of the noise."""
        self._n_partitioned = 0
        self._outlier_distance: float | None = None
        self._clipped_series = ClippedSeries()
        self._change_points = ChangePoints()
        self._distinct_levels = DistinctLevels(self.noise)
        self._measured_changes: list[MeasuredChange] = []
        self._grouping_states: list[_GroupingState] = []
        # Keys: the shape of the change, the range of runs, and the shapes of the other changes.
        self._margins: dict[tuple[object, ...], float] = {}
        self._judged_changes: list[LevelChange] = []
        self._open_changes: list[LevelChange] = []
        self.slow_ramps: dict[int, LevelChange] = {}  # keys: the start of the level that climbs
        self._n_unchanged = 0  # how many changes at the start are the same as when find_updates() last returned them

    def extend(self, new_values: Floats) -> None:
        """Append finite values."""
        n = self.n + len(new_values)
        if n > len(self._values):
            longer_array = np.zeros(n + n // 2)
            longer_array[: self.n] = self._values[: self.n]
            self._values = longer_array
        self._values[self.n : n] = new_values
        self.n = n
        if count_points_for_noise(n) != self.noise.points:
            self._estimate_noise(self._values[: count_points_for_noise(n)])
        n_to_partition = n - n % (EARLY_UPDATE_POINTS if n < MAX_EARLY_POINTS else UPDATE_POINTS)
        if n_to_partition >= MIN_POINTS and n_to_partition > self._n_partitioned and self.noise.sigma > 0:
            self._update_partition(n_to_partition)

    def _estimate_noise(self, first_values: Floats) -> None:
        """Estimate the noise again, and discard the changes that were found with the former estimate."""
        self.noise = estimate_noise(first_values, sort_sizes(first_values[1:] - first_values[:-1]))
        self._discard_results()

    def _update_partition(self, n_points: int) -> None:
        """Update the partition of the first ``n_points`` points, then measure, group and check what changed in it."""
        # Propose positions, and count how many of them at the start are as before.
        values = self._values[:n_points]
        self._clipped_series.update(values, self.noise)
        n_unchanged = self._change_points.update(self._clipped_series, n_points)
        proposals = self._change_points.positions
        n_settled = self._n_partitioned - SETTLED_POINTS
        self._n_partitioned = n_points
        # A proposal is as before only if the level after it ends among points that were final at the last update.
        while n_unchanged:
            end_of_level = proposals[n_unchanged] if n_unchanged < len(proposals) else n_points
            if end_of_level <= n_settled:
                break
            n_unchanged -= 1

        # Drop proposals without distinct levels on the two sides. The last unchanged proposals are judged again,
        # because the proposals after them may have changed.
        n_unchanged = self._distinct_levels.update(values, proposals, max(0, n_unchanged - MAX_SPURIOUS_PROPOSALS))
        changes = self._distinct_levels.changes
        if n_unchanged == len(changes) == len(self._measured_changes):
            # No change differs, but the newest level has grown and may be a slow ramp now.
            self._find_slow_ramps(len(self._measured_changes))
            return

        # Measure and judge the changes that differ from the last update, and their neighbours.
        n_unchanged = min(max(0, n_unchanged - 2), len(self._measured_changes))
        edges = [
            changes[n_unchanged - 1].position if n_unchanged else 0,
            *(change.position for change in changes[n_unchanged:]),
            n_points,
        ]
        self._measured_changes[n_unchanged:] = measure_changes(
            values,
            self._clipped_series.sums[: n_points + 1],
            np.array(edges),
            begin=self._measured_changes[n_unchanged - 1].position if n_unchanged else 0,
            noise=self.noise,
            in_doubt=[change.in_doubt for change in changes[n_unchanged:]],
        )
        self._group_changes(n_unchanged)
        self._find_slow_ramps(n_unchanged)

    def _find_slow_ramps(self, first_changed: int) -> None:
        """Look for slow ramps between large changes, from the last large one before number ``first_changed`` on.

        Small changes do not end a ramp, because the partition divides a slow ramp into many of them.
        """
        while first_changed and not self._is_large(self._measured_changes[first_changed - 1]):
            first_changed -= 1
        start_positions = [self._measured_changes[first_changed - 1].position if first_changed else 0]
        start_positions += [
            change.position for change in self._measured_changes[first_changed:] if self._is_large(change)
        ]
        self.slow_ramps = {begin: ramp for begin, ramp in self.slow_ramps.items() if begin < start_positions[0]}
        for begin, end in pairwise([*start_positions, self._n_partitioned]):
            ramp = ramps.find_slow_ramp(self._values[begin:end], begin, self.noise)
            if ramp:
                self.slow_ramps[begin] = ramp

    def _is_large(self, change: MeasuredChange) -> bool:
        """Return whether a change is so large that it is judged independently of other changes."""
        return abs(change.after - change.before) >= LARGE_STEP_SIGMA * self.noise.sigma

    def _group_changes(self, first_changed: int) -> None:
        """Group the measured changes from number ``first_changed`` on; keep those that explain the runs around them."""
        # Go on from the state after the last unchanged change.
        del self._grouping_states[first_changed:]
        del self._judged_changes[self._grouping_states[-1].n_judged if first_changed else 0 :]
        self._n_unchanged = min(self._n_unchanged, len(self._judged_changes))
        group = self._grouping_states[-1].group if first_changed else None
        for change in self._measured_changes[first_changed:]:
            if group is None or change.in_doubt or not ramps.joins_group(group, change, self.noise.sigma):
                self._judged_changes += ramps.list_group_changes(group, self.noise.sigma, self._confirm_change)
                group = ramps.make_group(change)
            else:
                group = ramps.extend_group(group, change, self.noise.sigma)
            self._grouping_states.append(_GroupingState(len(self._judged_changes), group))
        self._open_changes = ramps.list_group_changes(group, self.noise.sigma, self._confirm_change)

    def _confirm_change(self, change: LevelChange, begin: int, end: int) -> LevelChange | None:
        """Return a change if it explains the runs around it better than wander does; None if it does not.

        Wander is the slow movement of a host's level. If a change is likely, but not certain, it is returned as a
        suspicion.

        Parameters
        ----------
        begin, end
            The start of the level before the change, and the end of the level after it.
        """
        change = replace(change, high=min(change.high, self._n_partitioned - 1))
        shape = Shape(change.low, change.high) if change.rule == "ramp" else Shape(change.index, change.index)

        # No host wanders as far as a jump.
        size = abs(change.after - change.before)
        if is_jump(size, self.noise) and not change.wants_rerun:
            return change

        # Judge the change by the runs around it and the other changes there. It is certain if any one of the windows
        # makes it certain, so that no later change withdraws it.
        min_runs = min(change.index - begin, end - change.index)
        largest_margin = -math.inf
        for start, stop, margin_factor in self._list_windows(shape):
            margin = self._compute_margin(shape, (begin, end), start, stop) / margin_factor
            if not change.wants_rerun:
                small_steps = self._list_small_steps(change.index, start, stop)
                if margin >= find_needed_margin(size, min_runs, self.noise, small_steps):
                    return change
            largest_margin = max(largest_margin, margin)
        n_runs_after = self._n_partitioned - shape.high
        is_distinct_and_large = not change.wants_rerun and exceeds_wander(size, self.noise)
        if is_suspicion(largest_margin, n_runs_after, exceeds_wander=is_distinct_and_large):
            return replace(change, wants_rerun=True)
        return None

    def _list_windows(self, shape: Shape) -> list[_Window]:
        """Return the ranges of runs by which a change is judged, in the order in which they are tried.

        Runs beyond a much larger change may be so noisy that this change does not show in them, so one range ends at
        such changes. A later change may begin at the next measured change, certain or in doubt, or with some of the
        newest runs: ranges that end there are tried as well. If the level wandered before the previous measured change,
        that says little about the runs after it, so ranges that begin there are tried last.
        """
        # The usual range, and the other positions at which it may end.
        start = max(0, shape.low - POINTS_BEFORE)
        stop = min(self._n_partitioned, shape.high + POINTS_AFTER)
        next_index = bisect_right(self._measured_changes, shape.high, key=_get_position)
        ends = [self._measured_changes[next_index].position] if next_index < len(self._measured_changes) else []
        if stop == self._n_partitioned:
            ends += range(stop - EARLY_UPDATE_POINTS, stop - UPDATE_POINTS, -EARLY_UPDATE_POINTS)
        ends = [end for end in ends if shape.high < end < stop]
        # The range between the nearest jumps on both sides.
        changes_before = self._list_measured_changes(start, shape.low)
        changes_after = self._list_measured_changes(shape.high + 1, stop)
        jump_before = next((change.position for change in reversed(changes_before) if self._is_jump(change)), start)
        jump_after = next((change.position for change in changes_after if self._is_jump(change)), stop)
        windows = [(start, stop), *((start, end) for end in ends), (jump_before, jump_after)]
        previous_change = changes_before[-1].position if changes_before else start
        late_windows = [(previous_change, end) for end in (stop, *ends) if (previous_change, end) not in windows]
        late_factor = MARGIN_FACTOR_AFTER_CHANGES if len(changes_before) > 1 else 1.0
        return [
            *(_Window(*window) for window in dict.fromkeys(windows)),
            *(_Window(*window, late_factor) for window in late_windows),
        ]

    def _list_measured_changes(self, start: int, stop: int) -> list[MeasuredChange]:
        """Return the measured changes at positions from ``start`` on and before ``stop``."""
        first = bisect_left(self._measured_changes, start, key=_get_position)
        end = bisect_left(self._measured_changes, stop, key=_get_position)
        return self._measured_changes[first:end]

    def _list_small_steps(self, index: int, start: int, stop: int) -> list[float]:
        """Return the sizes of the small certain steps between ``start`` and ``stop``, except the step at ``index``."""
        changes = self._list_measured_changes(start + 1, stop)  # a step at `start` has no run before it
        return [
            change.after - change.before
            for change in changes
            if change.position != index and not (change.in_doubt or self._is_large(change))
        ]

    def _is_jump(self, change: MeasuredChange) -> bool:
        """Return whether a change is so large that the noise of the runs may differ between its two sides."""
        return not change.in_doubt and is_jump(abs(change.after - change.before), self.noise)

    def _compute_margin(self, shape: Shape, span: tuple[int, int], start: int, stop: int) -> float:
        """Return by how much a change explains the runs in [start, stop) better than slow movements of the host do.

        ``span`` contains the start of the level before the change and the end of the level after it. Only changes at or
        outside these two positions count as other changes.
        """
        begin, end = span
        other_changes = [
            change
            for change in self._list_measured_changes(start + 1, stop)
            if change.position <= begin or change.position >= end
        ]
        other_shapes = [Shape(change.position, change.position) for change in other_changes]
        key = (shape, start, stop, *other_shapes)
        margin = self._margins.get(key)
        if margin is None:
            margin = wander.compute_margin_over_wander(
                self._values[start:stop] / self.noise.sigma, start, shape, self.noise, other_shapes
            )
            if len(self._margins) >= MAX_STORED_MARGINS:
                self._margins.clear()
            self._margins[key] = margin
        return margin

    def find_updates(self) -> tuple[int, list[LevelChange]]:
        """Return how many changes at the start are the same as at the previous call, and all changes after them."""
        n_unchanged = self._n_unchanged
        n_judged = len(self._judged_changes)
        self._n_unchanged = n_judged + len(self._open_changes)
        updated_changes = self._judged_changes[n_unchanged:] + self._open_changes[max(0, n_unchanged - n_judged) :]
        return n_unchanged, updated_changes

    def find_change_in_newest_points(self, reruns: Sequence[float] = ()) -> LevelChange | None:
        """Return a change among the newest points, after the last certain change; None if there is none.

        ``reruns`` are all measurements of the newest point if it was measured again.
        """
        last_certain_index = next(
            (change.position for change in reversed(self._distinct_levels.changes) if not change.in_doubt), 0
        )
        begin = max(last_certain_index, self.n - MAX_NEWEST_POINTS - MAX_POINTS_PER_SIDE)
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
        """Return whether a change among the newest points explains the runs better than slow movements of the host do.

        ``reruns`` are all measurements of the newest point if it was measured again.
        """
        size = abs(change.after - change.before)
        if is_jump(size, self.noise):
            return True  # No host wanders that far.
        index = change.index
        start = max(0, index - POINTS_BEFORE)
        runs = self._values[start : self.n]
        if reruns:
            runs = np.concatenate([runs[:-1], reruns])
        step = Shape(index, index)
        certain_steps_before = [
            Shape(change_before.position, change_before.position)
            for change_before in self._list_measured_changes(start + 1, index)
            if not change_before.in_doubt
        ]
        margin = wander.compute_margin_over_wander(
            runs / self.noise.sigma, start, step, self.noise, certain_steps_before
        )
        small_steps_before = self._list_small_steps(index, start, index)
        # Only the runs before the change count here: find_newest_change has allowed for how few come after it.
        n_runs_before = index - start
        return margin >= find_needed_margin(size, n_runs_before, self.noise, small_steps_before)

    def _get_outlier_distance(self) -> float:
        """Return the distance that outliers of this series reach, computed at the first call."""
        if self._outlier_distance is None:
            self._outlier_distance = estimate_outlier_distance(self._values[: self.noise.points])
        return self._outlier_distance
