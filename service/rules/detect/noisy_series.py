"""Detects level changes of noisy series; a further point costs the same however long the series is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from service.rules.detect import ramps
from service.rules.detect.change_points import ChangePoints
from service.rules.detect.measured_change import NEAR, SEARCH, MeasuredChange, measure_changes
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.newest_points import LONGEST, REFERENCE, NewestChange, judge_newest
from service.rules.detect.noise import Noise, epoch, estimate, find_gap, sorted_sizes, stray_distance
from service.rules.detect.strays_and_modes import fold_modes
from service.rules.detect.tamed_series import BLUR, TamedSeries

BLOCK = 32  # points after which the partition is updated
EARLY = 8  # the same while a series is shorter than 64
FIRST = 16  # points that the first partition needs
SETTLED = BLUR + NEAR + SEARCH + 16  # the measures of a change are final once this many points follow


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
        self.noise = Noise(0.0, 0.0, 0.0, 0)
        self._values: Floats = np.zeros(64)
        self._restart()

    def _restart(self) -> None:
        self._done = 0
        self._stray: float | None = None
        self._tamed = TamedSeries()
        self._path = ChangePoints(self.noise)
        self._rows: list[MeasuredChange] = []
        self._states: list[_GroupingState] = []
        self._closed: list[ramps.JudgedChange] = []
        self._open: list[ramps.JudgedChange] = []
        self._unchanged = 0  # how many of the first changes are as updates() returned them last

    def extend(self, new: Floats) -> None:
        """Append finite values."""
        n = self.n + len(new)
        if n > len(self._values):
            longer = np.zeros(n + n // 2)
            longer[: self.n] = self._values[: self.n]
            self._values = longer
        self._values[self.n : n] = new
        self.n = n
        if epoch(n) != self.noise.points:
            self._learn(self._values[: epoch(n)])
        until = n - n % (EARLY if n < 64 else BLOCK)
        if until >= FIRST and until > self._done and self.noise.sigma > 0:
            self._look(until)

    def _learn(self, head: Floats) -> None:
        """Estimate the noise anew, and judge everything by it."""
        differences = head[1:] - head[:-1]
        sizes = sorted_sizes(differences)
        gap = find_gap(differences, sizes)
        self.noise = estimate(fold_modes(head, gap, 0, len(head)), gap) if gap else estimate(head, 0.0, sizes)
        self._restart()

    def _look(self, until: int) -> None:
        self._tamed.update(self._values[:until], self.noise)
        same = self._path.update(self._tamed, until)
        positions = self._path.positions
        settled, self._done = self._done - SETTLED, until
        if same == len(positions) == len(self._rows) and (same == 0 or positions[-1] <= settled):
            return
        while same and (positions[same] if same < len(positions) else until) > settled:
            same -= 1
        same = min(max(0, same - 2), len(self._rows))
        edges = [positions[same - 1] if same else 0, *positions[same:], until]
        folded, sums = self._tamed.folded[:until], self._tamed.sums[: until + 1]
        begin = self._rows[same - 1].at if same else 0
        self._rows[same:] = measure_changes(
            folded, self._values[:until], sums, np.array(edges), begin=begin, noise=self.noise
        )
        self._judge(same)

    def _judge(self, same: int) -> None:
        """Group and judge the measured changes from index ``same`` on."""
        del self._states[same:]
        del self._closed[self._states[-1].closed if same else 0 :]
        self._unchanged = min(self._unchanged, len(self._closed))
        group = self._states[-1].group if same else None
        for row in self._rows[same:]:
            if group is None or not ramps.joins_group(group, row, self.noise.sigma):
                self._closed += ramps.judge_group(group, self.noise.sigma)
                group = ramps.start_group(row)
            else:
                group = ramps.extend_group(group, row, self.noise.sigma)
            self._states.append(_GroupingState(len(self._closed), group))
        self._open = ramps.judge_group(group, self.noise.sigma)

    def updates(self) -> tuple[int, list[ramps.JudgedChange]]:
        """Return how many of the first changes are the same as at the previous call, and all changes after those."""
        unchanged, self._unchanged = self._unchanged, len(self._closed) + len(self._open)
        return unchanged, self._closed[unchanged:] + self._open[max(0, unchanged - len(self._closed)) :]

    def newest_change(self, reruns: Sequence[float] = ()) -> NewestChange | None:
        """Judge the points after the last change; ``reruns`` are all measurements of the newest point."""
        changes = self._path.positions
        begin = max(changes[-1] if changes else 0, self.n - LONGEST - REFERENCE)
        return judge_newest(self._values[begin : self.n].tolist(), self.noise, self._stray_distance, reruns)

    def _stray_distance(self) -> float:
        """Return the distance that strays of this series reach, computed at the first call."""
        if self._stray is None:
            head = self._values[: self.noise.points]
            self._stray = stray_distance(fold_modes(head, self.noise.gap, 0, len(head)))
        return self._stray
