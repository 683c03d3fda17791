"""Joins a staircase of changes in one direction into a ramp."""

from __future__ import annotations

from typing import NamedTuple

from service.rules.detect.measured_change import MeasuredChange
from service.rules.detect.smallest_step import SMALLEST, is_large_enough

MOST_STEPS = 64  # a longer succession of changes in one direction is a ramp in any case
WITHIN = 1.0  # sigma: a smaller step against a climb may be due to how imprecisely a level is known
AGAINST = 3  # one change in this many may go against a climb


class JudgedChange(NamedTuple):
    """A step or a ramp; levels in the unit of the (centred) series."""

    at: int
    before: float
    after: float
    low: int
    high: int
    rule: str


class ChangeGroup(NamedTuple):
    """Successive changes in one direction, with the evidence that they are a ramp.

    ``score`` is the log-likelihood ratio of a steady climb through each inner segment against a flat one; ``against``
    counts the small changes in the other direction.
    """

    first: MeasuredChange
    second: MeasuredChange
    before_last: MeasuredChange
    last: MeasuredChange
    size: int
    score: float
    against: int
    steps: tuple[MeasuredChange, ...]


def start_group(change: MeasuredChange) -> ChangeGroup:
    """Return a group of one change."""
    return ChangeGroup(change, change, change, change, 1, 0.0, 0, (change,))


def _continues(group: ChangeGroup, change: MeasuredChange) -> bool:
    return (change.after > change.before) == (group.last.after > group.first.before)


def joins_group(group: ChangeGroup, change: MeasuredChange, sigma: float) -> bool:
    """Return whether a change continues the group, or goes only a little against it where few changes do."""
    small = abs(change.after - change.before) < WITHIN * sigma
    return _continues(group, change) or (small and AGAINST * (group.against + 1) <= group.size + 1)


def extend_group(group: ChangeGroup, change: MeasuredChange, sigma: float) -> ChangeGroup:
    """Return the group with one more change, and the evidence of whether the segment before it climbs or is flat."""
    inner = group.last
    climb = (change.after - inner.before) / (4 * sigma)  # mean of the two steps around the segment, halved
    gain = inner.length * climb * (inner.trend - climb / 2)
    second = change if group.size == 1 else group.second
    steps = (*group.steps, change) if group.size < MOST_STEPS else group.steps
    against = group.against + (not _continues(group, change))
    return ChangeGroup(group.first, second, inner, change, group.size + 1, group.score + gain, against, steps)


def is_ramp(group: ChangeGroup, sigma: float) -> bool:
    """Return whether the group is one steady climb."""
    climbed = abs(group.last.after - group.first.before)
    return (group.score > 0 or group.size > MOST_STEPS) and group.size > 1 and climbed >= 2 * SMALLEST * sigma


def describe_ramp(group: ChangeGroup) -> JudgedChange:
    """Return the group as one ramp, from half a stair before its first change to half a stair after its last."""
    first, last = group.first, group.last
    begin = first.at - (group.second.at - first.at) // 2
    end = last.at + (last.at - group.before_last.at) // 2
    return JudgedChange(max(begin, 1), first.before, last.after, max(begin, 1), end, "ramp")


def judge_group(group: ChangeGroup | None, sigma: float) -> list[JudgedChange]:
    """Judge a group: it is one ramp, or those of its steps that are large enough."""
    if group is None:
        return []
    if is_ramp(group, sigma):
        return [describe_ramp(group)]
    return [
        JudgedChange(change.at, change.before, change.after, change.low, change.high, "step")
        for change in group.steps
        if is_large_enough(change, sigma)
    ]
