"""Finds the drifts of one series: where its level changes, and the cause of each change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal
from uuid import UUID

from runner.contract import Kind, get_metric
from runner.contract.level import compute_median
from service.rules import detect
from service.rules.detect.level_change import format_change
from service.rules.detect.nomination import Nomination, nominate_change
from service.rules.page_cache_effect import may_be_due_to_page_cache
from service.rules.series.cause import find_cause
from service.rules.series.point_order import PathPoint, Points, Trend
from service.schemas.history import Cause, Direction, Number, SeriesHead

Baselines = Mapping[UUID, tuple[Number, Number] | None]
"""The runs at which an expected level begins, from which later drifts are measured. The values are the levels before
and after the step to this level; None if a ramp led to it."""
_NO_BASELINES: Baselines = MappingProxyType({})
_MEDIAN_RULES = frozenset({"step", "newest", "expected"})
"""The rules whose levels are medians of the runs next to the change."""
_LAST_POINTS = 5
"""How many points at the end of a stretch show its last level."""


@dataclass(frozen=True, slots=True)
class SeriesDrift:
    """A change of level between two neighbours of a sequence, with its cause.

    Attributes
    ----------
    old_points, new_points
        The points on the two levels; the change lies between the last old point and the first new one.
    after_position, up_to_position
        The change lies after the first of these positions, and at or before the second.
    outer_revisions
        The revisions at these positions: the candidates are the commits that the second contains, but not the first.
    outer_environments
        The environments at these positions. If the position of the change is uncertain, the environment can change
        between them, but not between the last old and the first new point.
    change
        The result of the detector.
    pairs
        The number of interleaved pairs that prove the drift; None if none do.
    """

    old_points: Points
    new_points: Points
    cause: Cause
    after_position: int
    up_to_position: int
    outer_revisions: tuple[str, str]
    outer_environments: tuple[str, str]
    change: detect.LevelChange
    pairs: int | None = None

    @property
    def before(self) -> PathPoint:
        """The last point on the old level."""
        return self.old_points[-1]

    @property
    def after(self) -> PathPoint:
        """The first point on the new level."""
        return self.new_points[0]

    @property
    def goes_up(self) -> bool:
        """Whether the new level is higher than the old one."""
        return self.change.after > self.change.before

    @property
    def spread(self) -> Number:
        """The difference between the largest and the smallest sample, on the side on which it is larger."""
        return max(_compute_spread(self.old_points), _compute_spread(self.new_points))

    def is_same_as(self, other: SeriesDrift) -> bool:
        """Return whether this is the same change, seen in another sequence of points."""
        if self.cause is not other.cause or self.goes_up != other.goes_up:
            return False
        if self.cause is Cause.COMMIT:
            return self.after_position < other.up_to_position and other.after_position < self.up_to_position
        return (self.before.environment, self.after.environment) == (other.before.environment, other.after.environment)


def is_exact_count(head: SeriesHead) -> bool:
    """Return whether a series is a count that only the program affects.

    A count that other activity on the host also affects, such as context switches, repeats only by chance.
    """
    return head.kind is Kind.COUNT and get_metric(head.metric).exact


def find_drifts(trend: Trend, *, is_exact: bool, baselines: Baselines = _NO_BASELINES) -> list[SeriesDrift]:
    """Return the drifts on the trend's path, then those of the sequences beside it, each drift once.

    Parameters
    ----------
    is_exact
        Whether the series is an exact count. If so, its samples show how well it repeats, and faults in unprepared
        files can explain small changes.
    """
    drifts = list(_find_drifts_on_path(trend.path, is_exact, baselines))
    runs_on_path = {point.run_id for point in trend.path}
    for sequence in trend.points_beside:
        for drift in _find_drifts_on_path(sequence, is_exact, baselines):
            is_on_path = {drift.before.run_id, drift.after.run_id} <= runs_on_path  # where more runs have decided
            if not is_on_path and not any(drift.is_same_as(other) for other in drifts):
                drifts.append(drift)
    return drifts


def get_direction(drift: SeriesDrift, better: Literal["lower", "higher"]) -> Direction:
    """Return whether a drift is a regression or an improvement."""
    return Direction.IMPROVEMENT if drift.goes_up == (better == "higher") else Direction.REGRESSION


def _find_drifts_on_path(path: Points, is_exact: bool, baselines: Baselines) -> Iterator[SeriesDrift]:
    """Yield the level changes of a path as drifts, each with its cause and the range in which it lies.

    Changes that an outlier, or the page cache of unprepared files, may explain are left out.
    """
    # Reused counts were not measured, so they are no evidence: neither of a level nor of how well it repeats.
    measured_points = tuple(point for point in path if not point.is_reused)
    changes = list(_find_level_changes(measured_points, is_exact, baselines))
    # The points of a drift extend from the previous change to the next one.
    edges = [0, *(change.index for change in changes), len(measured_points)]
    changes = _measure_levels(measured_points, changes)
    for change, start, end in zip(changes, edges[:-2], edges[2:], strict=True):
        # If the position of the change is uncertain, everything that differs across its interval may be the cause.
        outer_before, outer_after = measured_points[max(change.low - 1, 0)], measured_points[change.high]
        old_points, new_points = measured_points[start : change.index], measured_points[change.index : end]
        if change.wants_rerun and _is_outlier_of_commit(old_points, new_points):
            continue
        if is_exact and may_be_due_to_page_cache(
            change.after - change.before, old_points[-1].program_bytes, new_points[0].program_bytes
        ):
            continue  # the page cache of unprepared files can explain the change
        yield SeriesDrift(
            old_points=old_points,
            new_points=new_points,
            cause=find_cause(outer_before, outer_after),
            after_position=outer_before.position,
            up_to_position=outer_after.position,
            outer_revisions=(outer_before.revision, outer_after.revision),
            outer_environments=(outer_before.environment, outer_after.environment),
            change=change,
        )


def _measure_levels(sequence: Points, changes: Sequence[detect.LevelChange]) -> list[detect.LevelChange]:
    """Return changes with the medians of all runs between two changes as their levels, as the trend chart draws them.

    The detector measures both levels of a step by the runs next to it, so one level would have two values: one after
    the change that leads to it, another before the next change. A level keeps the value of the runs next to the step if
    the median of all its runs is closer to the other side of the step, because then the level has wandered.
    """
    # A ramp is on neither level.
    starts = [0, *(change.high if change.rule == "ramp" else change.index for change in changes)]
    ends = [*(change.index for change in changes), len(sequence)]
    medians = [
        compute_median([point.value for point in sequence[start:end]]) for start, end in zip(starts, ends, strict=True)
    ]
    return [
        _replace_levels(change, before, after) if change.rule in _MEDIAN_RULES else change
        for change, before, after in zip(changes, medians[:-1], medians[1:], strict=True)
    ]


def _replace_levels(change: detect.LevelChange, before: Number | None, after: Number | None) -> detect.LevelChange:
    """Return a change with other levels, except where these are closer to the other side of the step."""
    half = abs(change.after - change.before) / 2
    if before is None or abs(before - change.before) >= half:
        before = change.before
    if after is None or abs(after - change.after) >= half:
        after = change.after
    evidence = format_change(before, after) + change.evidence.removeprefix(format_change(change.before, change.after))
    return replace(change, before=before, after=after, evidence=evidence)


def _is_outlier_of_commit(old_points: Points, new_points: Points) -> bool:
    """Return whether only one run shows the old level, and a later run of its commit and others show the new one."""
    old, new = old_points[0], new_points[0]
    is_same_commit = (old.revision, old.environment) == (new.revision, new.environment)
    return is_same_commit and len(old_points) == 1 and len(new_points) > 1


def _find_level_changes(sequence: Points, is_exact: bool, baselines: Baselines) -> Iterator[detect.LevelChange]:
    """Yield the changes of the level; of those that were declared expected, the step to each baseline.

    A decision about a change must not alter what was found about other commits. So the changes before a baseline are
    those that all runs show, and the changes after it too if these runs show a step there. Otherwise, the runs from the
    baseline on are judged without the earlier ones, because a change that leads past the baseline hides its level.
    """
    # At the first point, no stretch before it has to be separated.
    baseline_indices = [index for index, point in enumerate(sequence) if index and point.run_id in baselines]
    start = 0
    changes = _detect_changes(sequence, start, is_exact)
    for end in baseline_indices:
        baseline_step = baselines[sequence[end].run_id]  # None if a ramp leads to the baseline, which is no single step
        before = None if baseline_step is None else _find_level_before_step(sequence[start:end], *baseline_step)
        # Unless the step has moved since it was declared expected, what leads to the baseline is the expected change.
        has_moved = baseline_step is not None and before is None
        yield from (change for change in changes if change.high < end or (has_moved and change.index < end))
        seen_step = next((change for change in changes if change.index == end and change.rule != "ramp"), None)
        if baseline_step is not None and before is not None:
            after = baseline_step[1]
            evidence = _describe_expected_step(before, after, seen_step)
            # The step may lie as far away as it did before it was declared expected: its candidates stay the same.
            low, high = (seen_step.low, seen_step.high) if seen_step else (end, end)
            yield detect.LevelChange(
                index=end, before=before, after=after, low=low, high=high, rule="expected", evidence=evidence
            )
        if baseline_step is not None and seen_step:
            changes = [change for change in changes if change.index > end]
        else:
            changes = _detect_changes(sequence, end, is_exact)
        start = end
    yield from changes
    newest_stretch = sequence[start:]
    nominated_change = _nominate_change(newest_stretch, [_shift_indices(change, -start) for change in changes])
    if nominated_change is not None:
        yield _shift_indices(nominated_change, start)


def _describe_expected_step(before: Number, after: Number, seen_step: detect.LevelChange | None) -> str:
    """Return the evidence for a step that was declared expected: what certainly shows it, then the decision."""
    change = format_change(before, after)
    if seen_step is not None and not seen_step.wants_rerun and seen_step.evidence.startswith(f"{change}: "):
        return f"{seen_step.evidence}; it is expected, so later runs are judged from this level"
    return f"{change}: expected, so later runs are judged from this level"


def _detect_changes(sequence: Points, start: int, is_exact: bool) -> list[detect.LevelChange]:
    """Return the changes that the points of a sequence from ``start`` on show, with their indices in the sequence."""
    points = sequence[start:]
    changes = detect.find_level_changes(
        [point.value for point in points],
        # The samples of a run of a noisy metric are correlated: if they are equal, the next run may still differ.
        samples=[point.samples for point in points] if is_exact else None,
    )
    return [_shift_indices(change, start) for change in changes]


def _nominate_change(stretch: Points, changes: Sequence[detect.LevelChange]) -> detect.LevelChange | None:
    """Return the likely change on the newest level of a stretch.

    None if no change is likely, or if the detector itself suspects one there.
    """
    if changes and changes[-1].wants_rerun:
        return None
    begin = changes[-1].high if changes else 0
    nomination = nominate_newest_change(stretch[begin:])
    if nomination is None or not nomination.is_likely:
        return None
    return detect.LevelChange(
        index=begin + nomination.index,
        before=nomination.before,
        after=nomination.after,
        low=begin + nomination.low,
        high=begin + nomination.high,
        rule="nominated",
        evidence=nomination.describe(),
        wants_rerun=True,
    )


def nominate_newest_change(points: Points) -> Nomination | None:
    """Return the most likely change on one level; None if none is worth a comparison."""
    return nominate_change([point.value for point in points], [point.samples for point in points])


def _shift_indices(change: detect.LevelChange, offset: int) -> detect.LevelChange:
    """Return a change with its indices moved by a number of points."""
    return replace(change, index=change.index + offset, low=change.low + offset, high=change.high + offset)


def _find_level_before_step(stretch: Points, before: Number, after: Number) -> Number | None:
    """Return the level from which the step to a baseline starts; None if the stretch before it shows no such level.

    Runs added since the step was declared expected may have moved it or split it in two. The stretch then ends at the
    new level already, or at a third level, which is returned only if its last runs agree.

    Parameters
    ----------
    before, after
        The levels on both sides of the step when it was declared expected.
    """
    last_values = [point.value for point in stretch[-_LAST_POINTS:]]
    level = compute_median(last_values)
    assert level is not None
    if abs(level - before) < abs(level - after):
        return before
    is_third_level = level != after and len(set(last_values)) == 1
    return level if is_third_level else None


def _compute_spread(points: Iterable[PathPoint]) -> Number:
    """Return the difference between the largest and the smallest sample of the points."""
    samples = [value for point in points for value in point.samples]
    return max(samples) - min(samples)
