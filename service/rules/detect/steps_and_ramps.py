"""From measured changes to findings: small ones dropped, staircases of one direction named a ramp."""

from __future__ import annotations

import math
from typing import NamedTuple

from service.rules.detect.measured_change import MeasuredChange

MOST_STEPS = 64  # a group of more changes of one direction in succession is a ramp in any case
WITHIN = 1.0  # sigma: a smaller step against a climb may be no more than how well a level is known
AGAINST = 3  # one change in so many may go against a climb
SMALLEST = 2.0  # sigma: smaller steps are the wander of a host, not a change
BALANCED = 80.0  # squared sigma that the shorter side's points must explain: the penalty, were both sides that short


class JudgedChange(NamedTuple):
    """One finding about a stretch of rows; levels in the unit of the (centred) series."""

    at: int
    before: float
    after: float
    low: int
    high: int
    rule: str


class ChangeGroup(NamedTuple):
    """Successive changes of one direction: its first row, its last, how many, and the evidence that it is a ramp.

    ``score`` is the log-likelihood ratio of a steady climb through each inner segment against a flat one; ``against``
    counts those changes that are small and of the other direction.
    """

    first: MeasuredChange
    second: MeasuredChange
    before_last: MeasuredChange
    last: MeasuredChange
    size: int
    score: float
    against: int
    steps: tuple[MeasuredChange, ...]


def start_group(row: MeasuredChange) -> ChangeGroup:
    """Begin a group with one change."""
    return ChangeGroup(row, row, row, row, 1, 0.0, 0, (row,))


def _goes_on(group: ChangeGroup, row: MeasuredChange) -> bool:
    return (row.after > row.before) == (group.last.after > group.first.before)


def joins_group(group: ChangeGroup, row: MeasuredChange, sigma: float) -> bool:
    """Tell whether a change goes the way of the group, or hardly against it where few do."""
    small = abs(row.after - row.before) < WITHIN * sigma
    return _goes_on(group, row) or (small and AGAINST * (group.against + 1) <= group.size + 1)


def extend_group(group: ChangeGroup, row: MeasuredChange, sigma: float) -> ChangeGroup:
    """Add a change to the group and weigh whether the segment before it climbs or is flat."""
    inner = group.last
    climb = (row.after - inner.before) / (4 * sigma)  # mean of the two steps around the segment, halved
    gain = inner.length * climb * (inner.trend - climb / 2)
    second = row if group.size == 1 else group.second
    steps = (*group.steps, row) if group.size < MOST_STEPS else group.steps
    against = group.against + (not _goes_on(group, row))
    return ChangeGroup(group.first, second, inner, row, group.size + 1, group.score + gain, against, steps)


def is_ramp(group: ChangeGroup, sigma: float) -> bool:
    """Tell whether the group is one steady climb."""
    climbed = abs(group.last.after - group.first.before)
    return (group.score > 0 or group.size > MOST_STEPS) and group.size > 1 and climbed >= 2 * SMALLEST * sigma


def describe_ramp(group: ChangeGroup) -> JudgedChange:
    """Describe the group as one ramp: half a stair before its first change to half a stair after its last."""
    first, last = group.first, group.last
    begin = first.at - (group.second.at - first.at) // 2
    end = last.at + (last.at - group.before_last.at) // 2
    return JudgedChange(max(begin, 1), first.before, last.after, max(begin, 1), end, "ramp")


def judge_group(group: ChangeGroup | None, sigma: float) -> list[JudgedChange]:
    """Turn a group into findings: one ramp, or its steps but those too small."""
    if group is None:
        return []
    if is_ramp(group, sigma):
        return [describe_ramp(group)]
    return [
        JudgedChange(row.at, row.before, row.after, row.low, row.high, "step")
        for row in group.steps
        if _counts(row, sigma)
    ]


def _counts(row: MeasuredChange, sigma: float) -> bool:
    """Tell whether a step is large enough: for its host, for its shorter side, and for the points around it."""
    least = max(SMALLEST, math.sqrt(BALANCED / row.shorter)) * sigma
    return abs(row.after - row.before) >= max(least, row.spread)
