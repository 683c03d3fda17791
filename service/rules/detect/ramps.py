"""Joins a staircase of changes in one direction into a ramp.

The effects of the thresholds are described in docs/explanation/detection.md, "The rules".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from service.rules.detect.level_change import LevelChange
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.noise import Noise
from service.rules.detect.position_and_levels import MeasuredChange
from service.rules.detect.wander import Shape, compute_margin_over_wander, find_needed_margin

MIN_CLIMB_RUNS = 256  # a level of at least this many runs may climb too slowly to show steps
MIN_CLIMB_SIGMA = 2.0  # sigma: smallest climb of such a level
RUNS_PER_END = 32  # runs at each end of such a level from which its climb is computed
MAX_STEPS = 64  # a longer succession of changes in one direction is a ramp in any case
MAX_OPPOSED_STEP_SIGMA = 1.0  # sigma: a smaller step against the climb may be due to imprecise estimates of levels
STEPS_PER_OPPOSED_STEP = 3  # one change in this many may go against the climb
MIN_RAMP_SIGMA = 4.0  # sigma: smallest climb of a ramp


class ChangeGroup(NamedTuple):
    """Successive changes in one direction, with the evidence that they are a ramp.

    ``score`` is the log-likelihood ratio, up to a factor, of inner segments that climb steadily against flat ones;
    ``n_opposed`` counts the small changes in the other direction; ``steps`` holds the first ``MAX_STEPS`` changes.
    """

    first_change: MeasuredChange
    second_change: MeasuredChange
    next_to_last_change: MeasuredChange
    last_change: MeasuredChange
    n_changes: int
    score: float
    n_opposed: int
    steps: tuple[MeasuredChange, ...]


def make_group(change: MeasuredChange) -> ChangeGroup:
    """Return a group of one change."""
    return ChangeGroup(
        first_change=change,
        second_change=change,
        next_to_last_change=change,
        last_change=change,
        n_changes=1,
        score=0.0,
        n_opposed=0,
        steps=(change,),
    )


def _follows_direction_of(group: ChangeGroup, change: MeasuredChange) -> bool:
    """Return whether a change goes in the direction of the group."""
    return (change.after > change.before) == (group.last_change.after > group.first_change.before)


def joins_group(group: ChangeGroup, change: MeasuredChange, sigma: float) -> bool:
    """Return whether a change continues the group, or is one of few small changes against its direction."""
    is_small = abs(change.after - change.before) < MAX_OPPOSED_STEP_SIGMA * sigma
    return _follows_direction_of(group, change) or (
        is_small and STEPS_PER_OPPOSED_STEP * (group.n_opposed + 1) <= group.n_changes + 1
    )


def extend_group(group: ChangeGroup, change: MeasuredChange, sigma: float) -> ChangeGroup:
    """Return the group with one more change; its score includes whether the segment before the change climbs.

    In a segment that climbs steadily, the expected difference between the means of its two halves is ``climb`` sigma;
    in a flat segment, it is 0. If the observed difference is ``trend``, the log-likelihood ratio of the two is
    n · climb · (trend − climb ∕ 2), up to a factor.
    """
    segment_change = group.last_change
    climb = (change.after - segment_change.before) / (4 * sigma)  # half the mean of the two steps around the segment
    gain = segment_change.length * climb * (segment_change.trend - climb / 2)
    second_change = change if group.n_changes == 1 else group.second_change
    steps = (*group.steps, change) if group.n_changes < MAX_STEPS else group.steps
    n_opposed = group.n_opposed + (not _follows_direction_of(group, change))
    return ChangeGroup(
        first_change=group.first_change,
        second_change=second_change,
        next_to_last_change=segment_change,
        last_change=change,
        n_changes=group.n_changes + 1,
        score=group.score + gain,
        n_opposed=n_opposed,
        steps=steps,
    )


def is_ramp(group: ChangeGroup, sigma: float) -> bool:
    """Return whether the group is one steady climb: its segments climb (a positive score), or are too many."""
    climb = abs(group.last_change.after - group.first_change.before)
    return (group.score > 0 or group.n_changes > MAX_STEPS) and group.n_changes > 1 and climb >= MIN_RAMP_SIGMA * sigma


def build_ramp_change(group: ChangeGroup) -> LevelChange:
    """Return the group as one ramp, from half a stair before its first change to half a stair after its last.

    It begins after the change before it, so that changes stay in order of index.
    """
    first_change, last_change = group.first_change, group.last_change
    begin = first_change.position - (group.second_change.position - first_change.position) // 2
    begin = max(begin, first_change.begin + 1)
    end = last_change.position + (last_change.position - group.next_to_last_change.position) // 2
    return LevelChange(
        index=begin, before=first_change.before, after=last_change.after, low=begin, high=end, rule="ramp"
    )


def list_group_changes(
    group: ChangeGroup | None, sigma: float, confirm_change: Callable[[LevelChange, int, int], LevelChange | None]
) -> list[LevelChange]:
    """Return the changes of a group: one ramp, or those steps that explain the runs around them.

    ``confirm_change`` returns a change if it explains the runs, given the start of the level before it and the end of
    the level after it.
    """
    if group is None:
        return []
    if is_ramp(group, sigma):
        ramp = confirm_change(build_ramp_change(group), group.first_change.begin, group.last_change.end)
        if ramp:
            return [ramp]
    confirmed_changes = (
        confirm_change(
            LevelChange(
                index=step.position,
                before=step.before,
                after=step.after,
                low=step.low,
                high=step.high,
                rule="step",
                wants_rerun=step.in_doubt,
            ),
            step.begin,
            step.end,
        )
        for step in group.steps
    )
    return [change for change in confirmed_changes if change]


def find_slow_ramp(runs: Floats, start: int, noise: Noise) -> LevelChange | None:
    """Return a ramp if a level rises or falls too slowly to show steps; None if it does not.

    Parameters
    ----------
    runs : array of n floats
        The runs of the level, in the unit of the series.
    start : int
        The position of ``runs[0]`` in the series.
    noise : Noise
        The noise of the series.
    """
    if len(runs) < MIN_CLIMB_RUNS:
        return None
    before, after = float(np.median(runs[:RUNS_PER_END])), float(np.median(runs[-RUNS_PER_END:]))
    if abs(after - before) < MIN_CLIMB_SIGMA * noise.sigma:
        return None
    first_index, last_index = start + 1, start + len(runs) - 1
    # Each half of the ramp counts as one level.
    needed_margin = find_needed_margin(abs(after - before), len(runs) // 2, noise)
    if compute_margin_over_wander(runs / noise.sigma, start, Shape(first_index, last_index), noise) < needed_margin:
        return None
    return LevelChange(index=first_index, before=before, after=after, low=first_index, high=last_index, rule="ramp")
