"""Detects the level changes of a complete or growing series, by the rule that suits its numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

from runner.contract.number_text import format_number, format_sigmas
from service.rules.detect.input_numbers import check_numbers, check_samples, compute_difference, subtract_origin
from service.rules.detect.level_change import LevelChange, Number, format_change
from service.rules.detect.noisy_series import NoisySeries
from service.rules.detect.repeating_series import RepeatingSeries

MAX_POINTS_TO_NEWEST = 36
"""A change among the newest points may be the last one of the partition if at most this many points separate them."""
MAX_POSITION_ERROR = 3
"""Points by which the position of the same change may differ between the two rules."""
MIN_SIZE_RATIO = 4
"""A noisy change is new if it is more than this many times as large as all fixed changes near its position together."""
MAX_USUAL_UNCERTAINTY = 64
"""Few changes have positions that are uncertain by more points than this."""
_index = attrgetter("index")


class LevelChangeDetector:
    """The level changes of a series to which points are appended.

    After any number of calls of :meth:`append` and :meth:`extend`, :meth:`find_changes` equals
    :func:`find_level_changes` of all points.
    """

    def __init__(self) -> None:
        self._values: list[Number] = []
        self._samples: list[Sequence[Number]] = []
        self._repeating = RepeatingSeries()
        self._noisy = NoisySeries()
        self._changes: list[LevelChange] = []
        self._replaced_changes: list[LevelChange] = []  # the change in doubt that the newest change replaces, if any
        self._newest_change: LevelChange | None = None  # the last change, if it was found among the newest points
        self._merge_key: object = None  # what the merged changes depend on, besides the noisy changes
        self._merged_changes = MergedChanges([])

    def append(self, value: Number, samples: Sequence[Number] | None = None) -> list[LevelChange]:
        """Append one point and return the level changes of the whole series; see :meth:`find_changes`."""
        self.extend([value], None if samples is None else [samples])
        return self.find_changes()

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]] | None = None) -> None:
        """Append points.

        Raises
        ------
        ValueError
            If a number is not finite, or ``samples`` and ``values`` differ in length; then nothing is appended.
        """
        values = check_numbers(values, len(self._values), "values")
        if samples is not None:
            if len(samples) != len(values):
                raise ValueError(f"`samples` has {len(samples)} points, but `values` has {len(values)}")
            samples = check_samples(samples, len(self._values))
        self._values += values
        self._samples += samples if samples is not None else [()] * len(values)

    def find_changes(self) -> list[LevelChange]:
        """Return the level changes, in order of index.

        The list is not a copy, so that the cost of a call does not depend on the number of changes: read it before the
        next point is appended, and do not modify it.
        """
        n = len(self._values)
        if n < 2:
            return []
        self._repeating.extend(self._values[self._repeating.n_points :], self._samples[self._repeating.n_points :])
        self._noisy.extend(subtract_origin(self._values[self._noisy.n :], self._values[0]))
        # If most points are equal, sigma is 0, and no change can be measured in it. If the samples within most runs
        # vary, equal points are a coincidence.
        repeats = self._repeating.is_repeating or self._noisy.noise.sigma == 0.0
        if repeats and not self._repeating.has_varying_samples:
            return self._repeating.find_changes()
        n_exact_changes = len(self._repeating.exact_changes)
        slow_ramps = tuple(self._noisy.slow_ramps.values())
        noisy_changes = self._update_noisy_changes()
        if not n_exact_changes and not slow_ramps:
            return noisy_changes
        merge_key = (n_exact_changes, slow_ramps, self._noisy.noise.points)
        if merge_key != self._merge_key:  # which is rare
            self._merge_key = merge_key
            completed_ramps = [self._complete_change(ramp) for ramp in slow_ramps]
            self._merged_changes = MergedChanges([*self._repeating.exact_changes, *completed_ramps])
        return self._merged_changes.update(noisy_changes)

    def _update_noisy_changes(self) -> list[LevelChange]:
        """Return the changes of the noisy series; a change among the newest points may replace the last one."""
        # Undo what the previous call added for the newest points.
        if self._newest_change:
            self._changes.pop()
        self._changes += self._replaced_changes
        n_unchanged, updated_changes = self._noisy.find_updates()
        self._changes[n_unchanged:] = [self._complete_change(change) for change in updated_changes]
        reruns = [compute_difference(value, self._values[0]) for value in self._repeating.list_newest_measurements()]
        self._newest_change = self._noisy.find_change_in_newest_points(reruns)
        self._replaced_changes = []
        if self._newest_change:
            newest_change = self._complete_newest_change(self._newest_change)
            last_change = self._changes[-1] if self._changes else None
            # A single point may be an outlier, so it belongs to the last change only if it directly follows it.
            is_single_point = newest_change.index == len(self._values) - 1
            max_distance = MAX_POSITION_ERROR if is_single_point else MAX_POINTS_TO_NEWEST
            if last_change and _is_same(last_change, newest_change, max_distance):
                self._replaced_changes = [self._changes.pop()]
                # The partition measures a change more precisely, so its change is kept, unless only the newest points
                # make the change certain.
                if not last_change.wants_rerun or newest_change.wants_rerun:
                    newest_change = last_change
            self._changes.append(newest_change)
        return self._changes

    def _complete_change(self, change: LevelChange) -> LevelChange:
        """Return a step or ramp of the noisy series in the unit of the series, with its evidence."""
        before, after = self._convert_level(change.before), self._convert_level(change.after)
        sigma = self._noisy.noise.sigma
        size_in_sigmas = format_sigmas(abs(change.after - change.before) / sigma)
        n_runs = change.high - change.low + 1
        evidence = f"{format_change(before, after)}: "
        if change.rule == "ramp":
            climb_or_decline = "climb" if after > before else "decline"
            evidence += f"a steady {climb_or_decline} of {size_in_sigmas} over {n_runs:,} runs"
        else:
            evidence += f"a step of {size_in_sigmas} (sigma {format_number(sigma)})"
            if n_runs > 1:
                evidence += f", somewhere within {n_runs:,} successive runs"
        return replace(change, before=before, after=after, evidence=evidence)

    def _complete_newest_change(self, change: LevelChange) -> LevelChange:
        """Return the change among the newest points in the unit of the series, with its evidence."""
        before, after = self._convert_level(change.before), self._convert_level(change.after)
        size_in_sigmas = abs(change.after - change.before) / self._noisy.noise.sigma
        n_runs = len(self._values) - change.index
        n_between = change.high - change.index  # the points index … high - 1 lie between the two levels
        subject_and_verb = "the newest run lies" if n_runs == 1 else f"the newest {n_runs} runs lie"
        evidence = (
            f"{format_change(before, after)}: {subject_and_verb} {format_sigmas(size_in_sigmas)} off the previous level"
        )
        if n_between:
            first_runs_lie = "first lies" if n_between == 1 else f"first {format_number(n_between)} lie"
            evidence += f"; the {first_runs_lie} between the two levels"
        if change.wants_rerun:
            evidence += "; one more run can show whether the change lasts"
        return replace(change, before=before, after=after, evidence=evidence)

    def _convert_level(self, offset: float) -> Number:
        """Return the level at an offset from the first value; whole levels of an integer series as integers."""
        origin = self._values[0]
        if isinstance(origin, int):
            return origin + int(offset) if offset.is_integer() else origin + offset
        return origin + offset


class MergedChanges:
    """Fixed changes merged with the noisy changes that they do not explain, in order of index.

    The list of noisy changes grows. The cost of an update is proportional to the number of changes that differ from the
    previous update.
    """

    def __init__(self, fixed: list[LevelChange]) -> None:
        self._fixed_changes = sorted(fixed, key=_index)
        self._widely_uncertain = [
            change for change in self._fixed_changes if change.high - change.low > MAX_USUAL_UNCERTAINTY
        ]
        self._noisy: list[LevelChange] = []
        self._merged_changes = list(self._fixed_changes)

    def update(self, noisy_changes: list[LevelChange]) -> list[LevelChange]:
        """Return the merged changes; an unchanged noisy change must be the same object as in the previous call."""
        n_unchanged = min(len(self._noisy), len(noisy_changes))
        while n_unchanged and self._noisy[n_unchanged - 1] is not noisy_changes[n_unchanged - 1]:
            n_unchanged -= 1
        # The first change that differs in each list is enough, because both lists are in order of index.
        differing_changes = [*self._noisy[n_unchanged : n_unchanged + 1], *noisy_changes[n_unchanged : n_unchanged + 1]]
        self._noisy[n_unchanged:] = noisy_changes[n_unchanged:]
        if differing_changes:
            first_index = min(change.index for change in differing_changes)
            del self._merged_changes[bisect_left(self._merged_changes, first_index, key=_index) :]
            unexplained_changes = [change for change in noisy_changes[n_unchanged:] if not self._is_explained(change)]
            later_fixed = self._fixed_changes[bisect_left(self._fixed_changes, first_index, key=_index) :]
            self._merged_changes += sorted([*later_fixed, *unexplained_changes], key=_index)
        return self._merged_changes

    def _is_explained(self, change: LevelChange) -> bool:
        """Return whether the fixed changes near a change are large enough to explain it."""
        start = bisect_left(self._fixed_changes, change.low - MAX_POSITION_ERROR - MAX_USUAL_UNCERTAINTY, key=_index)
        end = bisect_left(self._fixed_changes, change.high + MAX_POSITION_ERROR + MAX_USUAL_UNCERTAINTY + 1, key=_index)
        # The search by index misses changes with a much longer interval: these few are checked each time.
        overlapping_changes = [
            fixed_change
            for fixed_change in (*self._fixed_changes[start:end], *self._widely_uncertain)
            if _do_overlap(change, fixed_change)
        ]
        max_explained_size = MIN_SIZE_RATIO * sum(
            abs(fixed_change.after - fixed_change.before) for fixed_change in overlapping_changes
        )
        return bool(overlapping_changes) and abs(change.after - change.before) <= max_explained_size


def _is_same(last_change: LevelChange, newest_change: LevelChange, max_distance: int) -> bool:
    """Return whether the last change of the partition and the change among the newest points are the same change.

    They are if the newest one does not lie after the last one. If one of them is in doubt, so is its position: up to
    ``max_distance`` points may lie between them. Two certain changes must have the same direction, and the newest one
    must lie within the interval of the last one, which must be a step, because the interval of a ramp is its length.
    """
    if newest_change.index <= last_change.index:
        return True
    if last_change.wants_rerun or newest_change.wants_rerun:
        return newest_change.index - last_change.high <= max_distance
    has_same_direction = (newest_change.after > newest_change.before) == (last_change.after > last_change.before)
    return has_same_direction and last_change.rule == "step" and newest_change.index <= last_change.high


def _do_overlap(first: LevelChange, second: LevelChange) -> bool:
    """Return whether the intervals of two changes overlap, apart from an error of ``MAX_POSITION_ERROR`` points."""
    return first.low <= second.high + MAX_POSITION_ERROR and first.high >= second.low - MAX_POSITION_ERROR


def find_level_changes(
    values: Sequence[Number],
    *,
    samples: Sequence[Sequence[Number]] | None = None,
) -> list[LevelChange]:
    """Return where a series changes its level.

    Parameters
    ----------
    values : sequence of n numbers
        One number for each point, oldest first.
    samples : sequence of n sequences, optional
        The samples that each point summarises; they show whether a count is the same, to the fault, in all samples.

    Returns
    -------
    list of LevelChange
        In order of index; empty if nothing changed.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, or ``samples`` and ``values`` differ in length.
    """
    detector = LevelChangeDetector()
    detector.extend(values, samples)
    return detector.find_changes()
