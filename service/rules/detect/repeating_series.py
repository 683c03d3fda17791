"""Detects level changes of series whose runs repeat one number exactly, always or apart from outliers.

Where its bounds come from: docs/explanation/detection.md, "The rules" and "Exchangeability".
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from service.rules.detect.level_change import LevelChange, Number, format_change
from service.rules.detect.rank_sum_test import LOG_MAX_CHANCE, compute_log_choose

LOG_TWO_TESTS = math.log(2)
"""Added to a log-probability if the same runs are tested twice, because either test can succeed by chance."""
LOG_MIN_ORDERS = math.log(400)
"""In a series without outliers, a first change is proven if its order is only one of this many possible orders.

Nothing else is known about such a series: it might alternate between two exact values at random, with all earlier
runs equal by chance. With 400, at most 0.5 % of such series ever show a change (docs/explanation/detection.md).
"""
LOG_RERUN_PROBABILITY = math.log(0.1)
"""A run off the level is worth a rerun if its log-probability of being an outlier is at most this."""
MIN_CHANGE_RUNS = 3
"""A change is certain only with at least this many measurements after it."""
MAX_OUTLIER_SHARE = 0.2
"""With a larger share of outliers, a level hardly repeats, so that only new or farther values show a change."""
MAX_EXACT_OUTLIER_SHARE = 0.05
"""Largest share of outliers in a series that counts as exact."""
MAX_OUTLIER_VALUES = 256
"""A level with more different outlier values does not repeat."""
MIN_SAMPLES_TO_VARY = 4  # a run needs at least this many samples to show whether they repeat
MIN_RUNS_TO_SHOW_NOISE = 4
"""If fewer runs than this are off the level, they do not show that the series is noisy, even if all differ."""
MAX_PENDING_RUNS = 32
"""If the values off the level are still no change after this many runs, the series does not repeat."""
MIN_REPEATS_OF_LEVEL = 8
"""If this many successive runs after the first run of a level agree on another value, the first was off the level."""
MIN_RATIO_OF_LEVEL = 4
"""Another value replaces the presumed level if at least this many times as many of the first runs have it."""


def has_no_majority(samples: Sequence[Number]) -> bool:
    """Return whether there are enough samples, and no value that most of them share."""
    if len(samples) < MIN_SAMPLES_TO_VARY:
        return False
    ((_, n_most_frequent),) = Counter(samples).most_common(1)
    return 2 * n_most_frequent <= len(samples)


class RepeatingSeries:
    """The level changes of a series in which most points repeat one value, updated as points are appended.

    The runs off the level since the last point on it are *pending*. They are outliers if a run returns to the level,
    and a change if it is improbable that so many successive runs are outliers. This probability follows from the number
    of earlier outliers at this level, because all orders of the runs are equally probable. A second test counts only
    the outliers that went as far as the pending runs: a run that was off by one does not explain a step of thousands.
    Numbers are compared as Python numbers, so exactly even beyond 2**53.

    A run stops sampling at the first sample that shows the expected level, so its value sticks to this level, and the
    order of the values is not exchangeable. But the earlier samples of the run are known too. Each value among the
    samples of a run therefore counts as seen: one sample on the level returns to it, and one off the level is an
    outlier.
    """

    def __init__(self) -> None:
        self.confirmed_changes: list[LevelChange] = []
        self.exact_changes: list[LevelChange] = []  # the confirmed changes that no outlier can explain
        self.n_points = 0
        self._level: Number = 0
        self._level_start = self._n_at_level = self._n_outliers = 0
        self._n_outliers_of_series = 0  # at this level and at all levels before it
        self._first_without_outlier = 0  # index of the first run after the last outlier
        self._pending_values: list[Number] = []
        self._former_levels: set[Number] = set()  # the levels before this one
        self._outlier_values: set[Number] = set()  # values that were outliers
        self._outlier_distances: list[Number] = []  # how far each outlier was from the level, in ascending order
        # For each value off the level: how many runs on the level have it as a sample.
        self._n_runs_with_sample: Counter[Number] = Counter()
        # The first runs at this level with their samples; None once no other value can replace the level.
        self._early_runs: list[tuple[Number, Sequence[Number]]] | None = []
        self._n_varying_points = 0  # points whose samples have no majority value
        self._max_samples_per_point = 1  # the largest number of samples of a point before the newest point
        self._newest_samples: Sequence[Number] = ()
        self._first_samples: Sequence[Number] = ()
        # The change after the first run, if no other run is before it; at most one.
        self._suspected_after_first: list[LevelChange] = []
        self._sample_ranges: list[tuple[Number, Number]] = []  # the smallest and the largest sample of each point

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> None:
        """Append points with their samples."""
        for value, point in zip(values, samples, strict=True):
            self._max_samples_per_point = max(self._max_samples_per_point, len(self._newest_samples))
            self._newest_samples = point
            self._n_varying_points += has_no_majority(point)
            self._sample_ranges.append((min(value, *point), max(value, *point)) if point else (value, value))
            self.n_points += 1
            if self.n_points == 1:
                self._level = value
                self._first_samples = point
            self._add(value, point)

    def _add(self, value: Number, samples: Sequence[Number] = ()) -> None:
        """Add a point; if another value turns out to be the level of the first runs, restart with that level."""
        start_before = self._level_start
        if self._early_runs is not None:
            self._early_runs.append((value, samples))
        self._add_run_to_level_or_pending(value, samples)
        if self._early_runs is None or self._level_start != start_before:
            return  # the level can no longer be replaced, or a new level has begun
        if self._n_at_level >= MIN_REPEATS_OF_LEVEL or len(self._early_runs) > MAX_PENDING_RUNS:
            self._early_runs = None  # the level is known, or no value is the level
            return
        n_needed = max(MIN_REPEATS_OF_LEVEL, MIN_RATIO_OF_LEVEL * self._n_at_level)
        if n_needed <= len(self._early_runs):  # cheaper to check than how often each value occurs
            ((level, n_repeats),) = Counter(run_value for run_value, _ in self._early_runs).most_common(1)
            if n_needed <= n_repeats and self._has_run_with_both_values(level):
                self._restart_series_at_level(level)

    def _has_run_with_both_values(self, other: Number) -> bool:
        """Return whether one of the first runs at this level shows both the level and another value."""
        return any({self._level, other} <= {value, *point} for value, point in self._early_runs or ())

    def _restart_series_at_level(self, level: Number) -> None:
        """Restart at ``level``, the value of most of the first runs, which is the true level."""
        early_runs = self._early_runs or []
        end = self.n_points
        self._early_runs = None
        # Forget how these runs were classified by the former level, then add them again, one by one.
        self._level, self._n_at_level, self._pending_values = level, 0, []
        self._n_outliers_of_series -= self._n_outliers
        self._n_outliers = 0
        self._first_without_outlier = self._level_start
        self._outlier_values.clear()
        self._outlier_distances.clear()
        self._n_runs_with_sample.clear()
        # Adding a run reads the number of points up to this run.
        for index, (value, point) in enumerate(early_runs, self._level_start + 1):
            self.n_points = index
            self._add(value, point)
        self.n_points = end

    def _add_run_to_level_or_pending(self, value: Number, samples: Sequence[Number]) -> None:
        """Add a run to the runs at the level, or to the pending runs after them, and decide whether these are a change.

        Pending are the runs off the level since the last run on it.
        """
        # A run on the level, or with a sample on it: the pending runs were outliers.
        has_sample_on_level = value != self._level and self._level in samples
        if value == self._level or has_sample_on_level:
            self._count_runs_as_outliers(
                [*self._pending_values, value] if has_sample_on_level else self._pending_values
            )
            self._pending_values = []
            self._n_at_level += not has_sample_on_level
            if len(samples) > 1 and not has_sample_on_level and len(self._n_runs_with_sample) < MAX_OUTLIER_VALUES:
                other_values = set(samples) - {value}
                if other_values:
                    self._n_runs_with_sample.update(other_values)
            return

        # A run off the level.
        self._pending_values.append(value)
        if len(self._pending_values) >= MIN_CHANGE_RUNS:
            self._confirm_change_of_pending()

        # If they are no change, the first run of the level may have been an outlier, or the series does not repeat.
        is_single_run = self._n_at_level == 1 and len(self._pending_values) == self.n_points - self._level_start - 1
        if is_single_run and self._pending_values[-MIN_REPEATS_OF_LEVEL:] == [value] * MIN_REPEATS_OF_LEVEL:
            self._suspect_change_after_first()
            self._start_level_at(0)  # the first point was an outlier, or a level that no other run repeats
        elif len(self._pending_values) > MAX_PENDING_RUNS:
            self._count_runs_as_outliers(self._pending_values)
            self._pending_values = []

    def _suspect_change_after_first(self) -> None:
        """Record a suspicion if the first run of the series is the only one on its level, and all its samples agree.

        An outlier rarely repeats in each sample, so this run may be the last one before a change.
        """
        if self._level_start or len(self._first_samples) < 2 or len(set(self._first_samples)) > 1:
            return
        before, after = self._level, self._pending_values[0]
        evidence = (
            f"{format_change(before, after)}: only one run was measured before the change; more runs of its revision "
            "can show whether it is an outlier"
        )
        self._suspected_after_first = [
            LevelChange(
                index=1, before=before, after=after, low=1, high=1, rule="exact", evidence=evidence, wants_rerun=True
            )
        ]

    def _confirm_change_of_pending(self) -> None:
        """Turn the pending runs, or the newest of them, into a change if they are unlikely to be outliers.

        If the level hardly repeats, only a new value, or runs farther off than any before, can show a change.
        """
        n_comparable = self._count_compared_runs()
        n_outliers = self._count_outliers()
        # The level hardly repeats.
        if n_outliers > MAX_OUTLIER_SHARE * n_comparable:
            plateau = self._find_new_plateau()
            farther_runs = self._find_farther_runs()
            if _is_change(plateau, self._level, n_comparable, n_outliers=0, exact=False):  # no outlier had its value
                self._confirm_newest_runs(len(plateau))
            elif _is_change(farther_runs, self._level, n_comparable, n_outliers, exact=False, n_far_outliers=0):
                self._confirm_newest_runs(len(farther_runs))
            return
        # Test all pending runs together; whether they can be a change at all is cheaper to check, so this comes first.
        if _can_be_change(self._pending_values, self._level) and _is_change(
            self._pending_values,
            self._level,
            n_comparable,
            n_outliers,
            exact=n_outliers == 0 and self._can_exclude_outliers(self._pending_values),
            n_far_outliers=self._count_far_outliers(),
        ):
            self._confirm_pending_runs()
            return
        # Otherwise test the newest pending runs, if no outlier went as far.
        if n_outliers:
            farther_runs = self._find_farther_runs()
            if _is_change(farther_runs, self._level, n_comparable, n_outliers, exact=False, n_far_outliers=0):
                self._confirm_newest_runs(len(farther_runs))

    @property
    def is_repeating(self) -> bool:
        """Whether the series repeats so far, so that each value off its level is a change or an outlier."""
        # Many pending runs are noise if their value changes after more than every second run.
        may_pending_repeat = (
            len(self._pending_values) < MIN_RUNS_TO_SHOW_NOISE
            or _count_transitions(self._pending_values) <= len(self._pending_values) // 2
        )
        return self._is_exact() and may_pending_repeat

    @property
    def has_varying_samples(self) -> bool:
        """Whether the samples within most runs differ from each other, so that no run can repeat another."""
        return 2 * self._n_varying_points > self.n_points

    def _count_compared_runs(self) -> int:
        """Return how many runs the pending runs are compared with, themselves included.

        These are the runs of this level and, since the last outlier, those of earlier levels. Only the runs of this
        level count while it is young, or if a pending value was seen before, because it may be one of two modes.
        """
        was_seen = not self._former_levels.isdisjoint(self._pending_values) or self._count_outliers() > self._n_outliers
        if was_seen or self._n_at_level < MIN_CHANGE_RUNS:
            return self.n_points - self._level_start
        return self.n_points - min(self._first_without_outlier, self._level_start)

    def _is_exact(self) -> bool:
        """Return whether so few runs of the series were outliers that it counts as exact."""
        return self._n_outliers_of_series <= MAX_EXACT_OUTLIER_SHARE * self.n_points

    def _can_exclude_outliers(self, runs: Sequence[Number]) -> bool:
        """Return whether the series is exact, and ``runs`` lie farther off the level than any samples of runs on it.

        If the samples of a count differ by two, its runs can be off by one for a while, which proves no change. If only
        a single run has samples that go as far, they do not count, because this run may have been disturbed.
        """
        min_distance = min((abs(value - self._level) for value in runs), default=0)
        spans = self._sample_ranges[self._level_start : self.n_points - len(runs)][-MAX_OUTLIER_VALUES:]
        max_distances = (
            max(largest - self._level, self._level - least)
            for least, largest in spans
            if least <= self._level <= largest
        )
        return self._is_exact() and sum(max_distance >= min_distance for max_distance in max_distances) < 2

    def _count_runs_as_outliers(self, values: Sequence[Number]) -> None:
        """Count runs off the level as outliers."""
        if not values:
            return
        self._n_outliers += len(values)
        self._n_outliers_of_series += len(values)
        self._first_without_outlier = self.n_points
        if len(self._outlier_values) < MAX_OUTLIER_VALUES:
            self._outlier_values.update(values)
        for value in values:
            insort(self._outlier_distances, abs(value - self._level))

    def _count_far_outliers(self) -> int:
        """Return how many outliers at this level were at least as far off it as the nearest pending run."""
        nearest = min(abs(value - self._level) for value in self._pending_values)
        return self._count_outliers() - bisect_left(self._outlier_distances, nearest)

    def _count_outliers(self) -> int:
        """Return the number of outliers at this level, plus the runs on it that had a pending value as a sample.

        Of several pending values, the one that most runs had as a sample counts.
        """
        if not self._n_runs_with_sample:
            return self._n_outliers
        return self._n_outliers + max(self._n_runs_with_sample[value] for value in self._pending_values)

    def _find_new_plateau(self) -> list[Number]:
        """Return the newest pending runs that agree in a value new to this level; an empty list if there are none.

        The value is not new if an earlier run or a sample of one had it. With too many outlier values, which are no
        longer recorded, nobody can tell.
        """
        value = self._pending_values[-1]
        if (
            value in self._outlier_values
            or value in self._n_runs_with_sample
            or len(self._outlier_values) >= MAX_OUTLIER_VALUES
        ):
            return []
        length = 1
        while length < len(self._pending_values) and self._pending_values[-length - 1] == value:
            length += 1
        return [] if value in self._pending_values[:-length] else self._pending_values[-length:]

    def _find_farther_runs(self) -> list[Number]:
        """Return the newest pending runs that lie on one side of the level, farther off it than any run before them."""
        is_above = self._pending_values[-1] > self._level
        max_distance = max(
            self._outlier_distances[-1:] + [abs(value - self._level) for value in self._n_runs_with_sample], default=0
        )
        if abs(self._pending_values[-1] - self._level) <= max_distance:  # common in noise, and cheap to check
            return []
        # Count the newest runs that lie on one side and farther off than all runs before the pending ones.
        distances = [abs(value - self._level) for value in self._pending_values]
        length = 0
        for value, distance in zip(reversed(self._pending_values), reversed(distances), strict=True):
            if distance <= max_distance or (value > self._level) != is_above:
                break
            length += 1
        # Shorten them until all of them lie farther off than the older pending runs as well.
        while length and min(distances[-length:]) <= max(distances[:-length], default=0):
            length -= 1
        return self._pending_values[-length:] if length else []

    def _confirm_newest_runs(self, n_runs: int) -> None:
        """Turn the newest ``n_runs`` pending runs into a change; the pending runs before them were outliers."""
        self._count_runs_as_outliers(self._pending_values[:-n_runs])
        self._pending_values = self._pending_values[-n_runs:]
        self._confirm_pending_runs()

    def _confirm_pending_runs(self) -> None:
        """Turn the pending runs, all runs since the last one on the level, into a change.

        The first value that repeats among them is the new level; the runs after it are then added again.
        """
        n_outliers, n_pending = self._count_outliers(), len(self._pending_values)
        n_before = self.n_points - n_pending - self._level_start
        if n_outliers:
            reason = (
                f"{n_pending} successive runs are off the level; of the {n_before:,} runs before them, at least "
                f"{n_outliers:,} had a sample off it"
            )
        else:
            reason = f"{n_before:,} successive runs have the same value, and none of the {n_pending} after them has it"
        change = self._make_change(self._pending_values, self._choose_rule(self._pending_values), reason)
        self.confirmed_changes.append(change)
        if change.rule == "exact":
            self.exact_changes.append(change)
        self._start_level_at(_find_first_repeated_value(self._pending_values))

    def _choose_rule(self, runs: Sequence[Number]) -> str:
        """Return the rule by which the newest runs are a change: "exact" if no outlier can explain them."""
        repeats = _is_mostly_repeated(runs)
        return "exact" if repeats and self._count_outliers() == 0 and self._can_exclude_outliers(runs) else "repeat"

    def _start_level_at(self, first_index: int) -> None:
        """Start a new level with the value of the pending run ``first_index``, and add the later pending runs again."""
        pending_values = self._pending_values
        end = self.n_points
        self._former_levels.add(self._level)
        self._level, self._n_at_level, self._n_outliers, self._pending_values = pending_values[first_index], 1, 0, []
        self._outlier_values.clear()
        self._outlier_distances.clear()
        self._n_runs_with_sample.clear()
        self._level_start = end - len(pending_values) + first_index
        self._early_runs = [(pending_values[first_index], ())]
        if first_index:  # the runs between the two levels repeat neither of them, so they count as outliers
            self._n_outliers_of_series += first_index
            self._first_without_outlier = self._level_start
        # Adding a run reads the number of points up to this run.
        for index, value in enumerate(pending_values[first_index + 1 :], end - len(pending_values) + first_index + 2):
            self.n_points = index
            self._add(value)
        self.n_points = end

    def _make_change(self, runs: Sequence[Number], rule: str, reason: str, *, wants_rerun: bool = False) -> LevelChange:
        """Return the change to the first repeated value of the newest runs."""
        start, first_repeated = self.n_points - len(runs), _find_first_repeated_value(runs)
        after = runs[first_repeated]
        # A run between the levels belongs to the new level if its samples reach this level, but not the old one.
        while (
            first_repeated
            and self._has_sample_range_with(start + first_repeated - 1, after)
            and not self._has_sample_range_with(start + first_repeated - 1, self._level)
        ):
            first_repeated -= 1
        evidence = f"{format_change(self._level, after)}: {reason}"
        return LevelChange(
            index=start + first_repeated,
            before=self._level,
            after=after,
            low=start,
            high=start + first_repeated,
            rule=rule,
            evidence=evidence,
            wants_rerun=wants_rerun,
        )

    def _has_sample_range_with(self, index: int, value: Number) -> bool:
        """Return whether a value lies between the smallest and the largest sample of a point."""
        smallest, largest = self._sample_ranges[index]
        return smallest <= value <= largest

    def list_newest_measurements(self) -> list[Number]:
        """Return the lower median of each run of the newest point if it was measured again; otherwise nothing.

        The samples of a single run do not count as several measurements, because runs differ more than samples within a
        run. A run is taken to have as many samples as the largest earlier point; samples that do not fill a run are
        left out. So the newest point counts as measured again only if it has at least twice as many samples.
        """
        samples_per_run = self._max_samples_per_point
        middle_index = (samples_per_run - 1) // 2
        runs = [
            sorted(self._newest_samples[start : start + samples_per_run])
            for start in range(0, len(self._newest_samples) - samples_per_run + 1, samples_per_run)
        ]
        return [samples[middle_index] for samples in runs] if len(runs) > 1 else []

    def find_changes(self) -> list[LevelChange]:
        """Return the changes; the last one wants a rerun if the pending runs may be outliers."""
        earlier_changes = [*self._suspected_after_first, *self.confirmed_changes]
        if not self._pending_values:
            return earlier_changes
        measurements = self.list_newest_measurements()
        # The newest point was an outlier if at least half of its reruns are back at the level.
        if 2 * sum(value == self._level for value in measurements) >= max(1, len(measurements)):
            return earlier_changes
        n_outliers = self._count_outliers()
        suspected_changes: list[LevelChange] = []
        # Test all pending runs, then only those that went farther than any outlier.
        for runs, n_far_outliers in (
            (self._pending_values, self._count_far_outliers()),
            (self._find_farther_runs(), 0),
        ):
            # If the newest point was measured again, its measurements replace its value.
            measured_runs = [*runs[:-1], *measurements] if measurements else runs
            n_points = self._count_compared_runs() + len(measured_runs) - len(runs)
            is_exact = runs is self._pending_values and self._can_exclude_outliers(runs)
            if self._level not in measurements and _is_change(
                measured_runs, self._level, n_points, n_outliers, exact=is_exact, n_far_outliers=n_far_outliers
            ):
                reason = f"none of the {len(measured_runs)} newest measurements has the value of the previous level"
                return [*earlier_changes, self._make_change(runs, self._choose_rule(runs), reason)]
            if runs and (
                not n_outliers
                or _compute_log_probability(len(measured_runs), n_points, n_outliers, n_far_outliers)
                <= LOG_RERUN_PROBABILITY
            ):
                suspected_changes = suspected_changes or self._list_suspected_changes(
                    runs, measured_runs if measurements else []
                )
        return [*earlier_changes, *suspected_changes]

    def _list_suspected_changes(self, runs: Sequence[Number], measurements: Sequence[Number]) -> list[LevelChange]:
        """Return the changes that the newest runs show if none of them were outliers.

        Parameters
        ----------
        measurements
            The values of these runs, with each rerun of the newest point; empty if it was not measured again.
        """
        if measurements:
            n, n_off_level = len(measurements), sum(value != self._level for value in measurements)
            subject_and_verb = f"{'' if n_off_level == n else f'{n_off_level} of '}the {n} newest measurements are"
        else:
            subject_and_verb = "the newest run is" if len(runs) == 1 else f"the newest {len(runs)} runs are"
        reason = f"{subject_and_verb} off the previous level; further runs can show whether the change lasts"
        if self._count_outliers():
            return [self._make_change(runs, "repeat", reason, wants_rerun=True)]
        # Without outliers, each value that differs from the one before it may be a change.
        level = self._level
        start = self.n_points - len(runs)
        suspicions = []
        for index, value in enumerate(runs, start):
            if value != level:
                evidence = f"{format_change(level, value)}: {reason}"
                suspicions.append(
                    LevelChange(
                        index=index,
                        before=level,
                        after=value,
                        low=index,
                        high=index,
                        rule="exact",
                        evidence=evidence,
                        wants_rerun=True,
                    )
                )
            level = value
        return suspicions


def _count_transitions(values: Sequence[Number]) -> int:
    """Return how many pairs of successive values differ."""
    return sum(a != b for a, b in pairwise(values))


def _find_first_repeated_value(values: Sequence[Number]) -> int:
    """Return the index of the first value that equals the next one; if there is none, of the most frequent value."""
    for index, (value, following) in enumerate(pairwise(values)):
        if value == following:
            return index
    ((most_frequent, _),) = Counter(values).most_common(1)
    return values.index(most_frequent)


def _compute_log_probability(n_newest: int, n_points: int, n_outliers: int, n_far_outliers: int | None) -> float:
    """Return the logarithm of the probability that the newest runs are outliers by chance.

    This is the share of the orders of all points in which the last ones are outliers. A second test counts only the
    outliers that went as far as the newest runs. The parameters are those of :func:`_is_change`.
    """
    orders = compute_log_choose(n_points, n_newest)
    log_probability = compute_log_choose(n_outliers + n_newest, n_newest) - orders
    if n_far_outliers is not None and n_far_outliers < n_outliers:
        log_probability = min(
            log_probability, LOG_TWO_TESTS + compute_log_choose(n_far_outliers + n_newest, n_newest) - orders
        )
    return log_probability


def _is_change(
    pending_values: Sequence[Number],
    level: Number,
    n_points: int,
    n_outliers: int,
    *,
    exact: bool,
    n_far_outliers: int | None = None,
) -> bool:
    """Return whether the pending runs, which are the last of ``n_points`` points, are a change and not outliers.

    Parameters
    ----------
    n_outliers
        Number of earlier outliers.
    exact
        Whether the series is exact, so that runs that repeat a value are a change even after few runs.
    n_far_outliers
        Number of earlier outliers that went as far as the pending runs; None if all did.
    """
    if not _can_be_change(pending_values, level):
        return False
    n_pending = len(pending_values)
    log_probability = _compute_log_probability(n_pending, n_points, n_outliers, n_far_outliers)
    is_repeated = exact and n_outliers == 0 and _is_mostly_repeated(pending_values)
    return log_probability <= (-LOG_MIN_ORDERS if is_repeated else LOG_MAX_CHANCE)


def _can_be_change(pending_values: Sequence[Number], level: Number) -> bool:
    """Return whether the pending runs are enough to be a change, and agree in their value or in their direction.

    In a noisy series they rarely do, and this check is cheaper than computing their probability.
    """
    if len(pending_values) < MIN_CHANGE_RUNS:
        return False
    return _is_mostly_repeated(pending_values) or min(pending_values) > level or max(pending_values) < level


def _is_mostly_repeated(values: Sequence[Number]) -> bool:
    """Return whether most values equal the one before them: at most a third of the values differ from it."""
    return _count_transitions(values) <= len(values) // 3
