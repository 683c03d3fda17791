"""Detects level changes of series that repeat to the last digit, exactly or but for outliers.

Where its bounds come from: docs/explanation/detection.md, "The rules" and "Exchangeability".
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from service.rules.detect.exchangeability import LOG_MAX_CHANCE, compute_log_choose
from service.rules.detect.level_change import LevelChange, Number, format_change

LOG_TWO_TESTS = math.log(2)
"""What asking a second question about the same runs costs: of two, either can be answered by chance."""
LOG_MIN_ORDERS = math.log(400)
"""Logarithm of the number of orders, of which one is seen, that proves a first change of a series without outliers.

Nothing else is known about such a series: if it alternated between two exact values at random, all the earlier runs
would be equal by chance. With 400, at most 0.5 % of such series ever show a change (docs/explanation/detection.md).
"""
LOG_RERUN_PROBABILITY = math.log(0.1)
"""Logarithm of the probability of being an outlier below which a run off the level is worth a rerun."""
MIN_CHANGE_RUNS = 3
"""Measurements without which no change is certain."""
MAX_OUTLIER_SHARE = 0.2
"""Share of outliers beyond which a level does not repeat, so that only a value that is new to it shows a change."""
MAX_EXACT_OUTLIER_SHARE = 0.05
"""Largest share of outliers of a series that counts as exact."""
MAX_OUTLIER_VALUES = 256
"""A level with more different outliers does not repeat."""
MIN_SAMPLES_TO_VARY = 4  # samples of a run that show whether they repeat
MIN_RUNS_TO_SHOW_NOISE = 4
"""Fewer runs off the level may all differ without showing that the series is noisy."""
MAX_PENDING_RUNS = 32
"""Values off the level that are no change after so many runs show that the series does not repeat."""
MIN_REPEATS_OF_LEVEL = 8
"""Equal values that show that the first point of a series was off the level, if nothing repeats it."""


def has_no_majority(samples: Sequence[Number]) -> bool:
    """Return whether there are several samples, and no value that most of them share."""
    return len(samples) >= MIN_SAMPLES_TO_VARY and 2 * Counter(samples).most_common(1)[0][1] <= len(samples)


class RepeatingSeries:
    """The level changes of a series of which most points repeat one value, updated as points are appended.

    The runs off the level since the last point on it are *pending*. They are outliers if a run returns to the level,
    and a change if it is improbable that so many successive runs are outliers. That probability follows from how many
    runs have outliers before at this level, if all orders of the runs are equally probable. The same is asked of those
    outliers alone that went as far as the pending runs: a run that was off by one does not excuse a step of thousands.
    Numbers are compared as Python numbers, so exactly, also beyond 2**53.

    Sampling ends with the first sample that shows the level that the history leads to expect, so runs stick to it, and
    their order is not exchangeable. But the samples that were drawn before the end are shown too. A run is therefore a
    witness for each value that its samples show: one sample on the level returns to it, and one off the level is an
    outlier.
    """

    def __init__(self) -> None:
        self.confirmed: list[LevelChange] = []
        self.exact: list[LevelChange] = []  # those of them that no outlier can explain
        self.points = 0
        self._level: Number = 0
        self._begin = self._at_level = self._outliers = 0
        self._all_outliers = 0  # at this level and at all before it
        self._first_without_outlier = 0  # where the newest runs without an outlier begin
        self._pending: list[Number] = []
        self._former: set[Number] = set()  # the levels before this one
        self._seen: set[Number] = set()  # values that were outliers
        self._distances: list[Number] = []  # how far each outlier was from the level, in order
        self._shown: Counter[Number] = Counter()  # runs on the level with a sample of each other value
        self._early: (
            list[tuple[Number, Sequence[Number]]] | None
        ) = []  # the first runs at this level, until it is known
        self._varying = 0  # points of which no value has the majority of the samples
        self._longest = 1  # samples of a point before the newest one
        self._newest: Sequence[Number] = ()
        self._spans: list[tuple[Number, Number]] = []  # the least and the largest value that each point shows

    def extend(self, values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> None:
        """Append points with their samples."""
        for value, point in zip(values, samples, strict=True):
            self._longest = max(self._longest, len(self._newest))
            self._newest = point
            self._varying += has_no_majority(point)
            self._spans.append((min(value, *point), max(value, *point)) if point else (value, value))
            self.points += 1
            if self.points == 1:
                self._level = value
            self._add(value, point)

    def _add(self, value: Number, point: Sequence[Number] = ()) -> None:
        """Add a point; if another value proves to be the level of the first runs, restart with that level."""
        begin = self._begin
        if self._early is not None:
            self._early.append((value, point))
        self._add_to_level_or_pending(value, point)
        if self._early is None or self._begin != begin:
            return
        if self._at_level >= MIN_REPEATS_OF_LEVEL or len(self._early) > MAX_PENDING_RUNS:
            self._early = None
        elif max(MIN_REPEATS_OF_LEVEL, 4 * self._at_level) <= len(self._early):
            level, times = Counter(value for value, _ in self._early).most_common(1)[0]
            if max(MIN_REPEATS_OF_LEVEL, 4 * self._at_level) <= times and self._are_mixed(level):
                self._restart_at_level(level)

    def _are_mixed(self, other: Number) -> bool:
        """Return whether one of the first runs at this level shows both the level and another value."""
        return any({self._level, other} <= {value, *point} for value, point in self._early or ())

    def _restart_at_level(self, level: Number) -> None:
        """Restart at the value that most of the first runs have, because that one is the level."""
        early_runs, end = self._early or [], self.points
        self._early = None
        self._level, self._at_level, self._pending = level, 0, []
        self._all_outliers -= self._outliers
        self._outliers, self._first_without_outlier = 0, self._begin
        self._seen.clear()
        self._distances.clear()
        self._shown.clear()
        for index, (value, point) in enumerate(early_runs, self._begin + 1):
            self.points = index
            self._add(value, point)
        self.points = end

    def _add_to_level_or_pending(self, value: Number, point: Sequence[Number]) -> None:
        """Add a run to those at the level or to the pending ones, and decide whether these are a change."""
        # A run on the level, or with a sample on it: what was pending are outliers.
        undecided = value != self._level and self._level in point
        if value == self._level or undecided:
            self._count_as_outliers([*self._pending, value] if undecided else self._pending)
            self._pending = []
            self._at_level += not undecided
            if (
                len(point) > 1
                and not undecided
                and len(self._shown) < MAX_OUTLIER_VALUES
                and (others := set(point) - {value})
            ):
                self._shown.update(others)
            return

        # A run off the level.
        self._pending.append(value)
        if len(self._pending) >= MIN_CHANGE_RUNS:
            self._confirm_change_of_pending()

        # No change: the first run of the level may have been an outlier, or nothing repeats here.
        is_single_run = self._at_level == 1 and len(self._pending) == self.points - self._begin - 1
        if is_single_run and self._pending[-MIN_REPEATS_OF_LEVEL:] == [value] * MIN_REPEATS_OF_LEVEL:
            self._start_at(0)  # the first point was an outlier, or a level that nothing repeats
        elif len(self._pending) > MAX_PENDING_RUNS:
            self._count_as_outliers(self._pending)
            self._pending = []

    def _confirm_change_of_pending(self) -> None:
        """Decide whether it is improbable that all pending runs are outliers; then they are a change.

        If the level hardly repeats, only a new value, or runs farther off than any before, can show a change.
        """
        size, outliers = self._count_comparable(), self._count_outliers()
        if outliers > MAX_OUTLIER_SHARE * size:
            plateau, farther = self._find_new_plateau(), self._find_farther_runs()
            if _is_change(plateau, self._level, size, 0, exact=False):
                self._confirm_newest(len(plateau))
            elif _is_change(farther, self._level, size, outliers, exact=False, far=0):
                self._confirm_newest(len(farther))
        elif _is_change(
            self._pending,
            self._level,
            size,
            outliers,
            exact=outliers == 0 and self._goes_beyond(self._pending),
            far=self._count_far_outliers(),
        ):
            self._confirm_pending()
        elif outliers and _is_change(
            farther := self._find_farther_runs(), self._level, size, outliers, exact=False, far=0
        ):
            self._confirm_newest(len(farther))

    @property
    def is_repeating(self) -> bool:
        """Whether the series repeats so far, so that each value off its level is a change or an outlier."""
        is_one_sided = (
            len(self._pending) < MIN_RUNS_TO_SHOW_NOISE or _count_transitions(self._pending) <= len(self._pending) // 2
        )
        return self._is_exact() and is_one_sided

    @property
    def has_varying_samples(self) -> bool:
        """Whether the samples within most runs differ from each other, so that no run can repeat another."""
        return 2 * self._varying > self.points

    def _count_comparable(self) -> int:
        """Return how many runs the pending ones are compared with, themselves included.

        These are the runs of this level, and those of the levels before it since the last outlier. Only the runs of
        this level count while it is young, and if a pending value was seen before: it may be one of two modes.
        """
        was_seen = not self._former.isdisjoint(self._pending) or self._count_outliers() > self._outliers
        only_this_level = was_seen or self._at_level < MIN_CHANGE_RUNS
        return self.points - (self._begin if only_this_level else min(self._first_without_outlier, self._begin))

    def _is_exact(self) -> bool:
        """Return whether so few runs of the series were outliers that the first change needs no history."""
        return self._all_outliers <= MAX_EXACT_OUTLIER_SHARE * self.points

    def _goes_beyond(self, runs: Sequence[Number]) -> bool:
        """Return whether the series is exact, and runs lie farther off the level than the samples of two runs on it.

        A count of which samples differ by two can differ by one for a while: few orders of the runs prove no change.
        """
        nearest = min((abs(value - self._level) for value in runs), default=0)
        spans = self._spans[self._begin : self.points - len(runs)][-MAX_OUTLIER_VALUES:]
        reaches = (
            max(largest - self._level, self._level - least)
            for least, largest in spans
            if least <= self._level <= largest
        )
        return self._is_exact() and sum(reach >= nearest for reach in reaches) < 2

    def _count_as_outliers(self, values: Sequence[Number]) -> None:
        """Count runs off the level as outliers."""
        if not values:
            return
        self._outliers += len(values)
        self._all_outliers += len(values)
        self._first_without_outlier = self.points
        if len(self._seen) < MAX_OUTLIER_VALUES:
            self._seen.update(values)
        for value in values:
            insort(self._distances, abs(value - self._level))

    def _count_far_outliers(self) -> int:
        """Return how many runs at this level were outliers at least as far away as the nearest of the pending ones."""
        nearest = min(abs(value - self._level) for value in self._pending)
        return self._count_outliers() - bisect_left(self._distances, nearest)

    def _count_outliers(self) -> int:
        """Return how many runs at this level were outliers, or showed one of the pending values in a sample."""
        return self._outliers + (max(self._shown[value] for value in self._pending) if self._shown else 0)

    def _find_new_plateau(self) -> list[Number]:
        """Return the newest pending runs that agree, if none before at this level agreed with them."""
        value = self._pending[-1]
        if value in self._seen or value in self._shown or len(self._seen) >= MAX_OUTLIER_VALUES:
            return []
        size = 1
        while size < len(self._pending) and self._pending[-size - 1] == value:
            size += 1
        return [] if value in self._pending[:-size] else self._pending[-size:]

    def _find_farther_runs(self) -> list[Number]:
        """Return the newest pending runs that lie farther off the level, on one side, than any run before them."""
        side = self._pending[-1] > self._level
        reach = max(self._distances[-1:] + [abs(value - self._level) for value in self._shown], default=0)
        if abs(self._pending[-1] - self._level) <= reach:  # which is usual in noise, and cheap to see
            return []
        distances = [abs(value - self._level) for value in self._pending]
        size = 0
        for value, distance in zip(reversed(self._pending), reversed(distances), strict=True):
            if distance <= reach or (value > self._level) != side:
                break
            size += 1
        while size and min(distances[-size:]) <= max(distances[:-size], default=0):
            size -= 1
        return self._pending[-size:] if size else []

    def _confirm_newest(self, size: int) -> None:
        """Turn so many of the newest pending runs into a change; those before them were outliers."""
        self._count_as_outliers(self._pending[:-size])
        self._pending = self._pending[-size:]
        self._confirm_pending()

    def _confirm_pending(self) -> None:
        """Turn the pending runs into a change, and add the runs after its first repeated value again."""
        first, outliers = _find_first_repeated(self._pending), self._count_outliers()
        before = self.points - len(self._pending) - self._begin
        why = (
            f"{len(self._pending)} successive runs are off a level that had only {outliers:,} "
            f"{'outlier' if outliers == 1 else 'outliers'} in {before:,} runs"
            if outliers
            else "all runs on each side have exactly the same count, so any change is a drift"
        )
        self.confirmed.append(self._make_change(self._pending, self._choose_rule(self._pending), why))
        self.exact += [change for change in self.confirmed[-1:] if change.rule == "exact"]
        self._start_at(first)

    def _choose_rule(self, runs: Sequence[Number]) -> str:
        """Return the rule by which the newest runs are a change."""
        repeats = _count_transitions(runs) <= len(runs) // 3
        return "exact" if repeats and self._count_outliers() == 0 and self._goes_beyond(runs) else "repeat"

    def _start_at(self, first: int) -> None:
        """Continue at the level of the pending run with index ``first``; the later pending runs are added again."""
        pending, end = self._pending, self.points
        self._former.add(self._level)
        self._level, self._at_level, self._outliers, self._pending = pending[first], 1, 0, []
        self._seen.clear()
        self._distances.clear()
        self._shown.clear()
        self._begin = end - len(pending) + first
        self._early = [(pending[first], ())]
        if first:  # what was measured between the levels repeats neither
            self._all_outliers += first
            self._first_without_outlier = self._begin
        for index, value in enumerate(pending[first + 1 :], end - len(pending) + first + 2):
            self.points = index
            self._add(value)
        self.points = end

    def _make_change(self, runs: Sequence[Number], rule: str, why: str, *, unsure: bool = False) -> LevelChange:
        """Return the change to the first repeated value of the newest runs."""
        low, first = self.points - len(runs), _find_first_repeated(runs)
        after = runs[first]
        # A run between the levels whose samples reach the new one, and not the old one, is at the new one already.
        while (
            first
            and self._has_sample_range_with(low + first - 1, after)
            and not self._has_sample_range_with(low + first - 1, self._level)
        ):
            first -= 1
        evidence = f"{format_change(self._level, after)}: {why}"
        return LevelChange(low + first, self._level, after, low, low + first, rule, evidence, wants_rerun=unsure)

    def _has_sample_range_with(self, index: int, value: Number) -> bool:
        """Return whether a value lies within the samples of a point."""
        least, largest = self._spans[index]
        return least <= value <= largest

    def list_newest_measurements(self) -> list[Number]:
        """Return all measurements of the newest point if it was measured again; otherwise none.

        The samples of one run are no further measurements: runs differ by more than their samples do. Only where
        points have one sample each, or the newest one has several times as many as they have, it was measured again.
        """
        size = self._longest
        measurements = [sorted(self._newest[at : at + size]) for at in range(0, len(self._newest) - size + 1, size)]
        return [samples[(size - 1) // 2] for samples in measurements] if len(measurements) > 1 else []

    def find_changes(self) -> list[LevelChange]:
        """Return the changes; the last one wants a rerun if the pending runs may be outliers."""
        if not self._pending:
            return list(self.confirmed)
        measurements = self.list_newest_measurements()
        if 2 * sum(value == self._level for value in measurements) >= max(1, len(measurements)):
            return list(self.confirmed)
        outliers, suspected = self._count_outliers(), list[LevelChange]()
        for runs, n_far_outliers in ((self._pending, self._count_far_outliers()), (self._find_farther_runs(), 0)):
            measured = [*runs[:-1], *measurements] if measurements else runs
            points = self._count_comparable() + len(measured) - len(runs)
            exact = runs is self._pending and self._goes_beyond(runs)
            if self._level not in measurements and _is_change(
                measured, self._level, points, outliers, exact=exact, far=n_far_outliers
            ):
                why = f"{len(measured)} measurements agree on a value that differs from the level that repeated before"
                return [*self.confirmed, self._make_change(runs, self._choose_rule(runs), why)]
            if runs and (
                not outliers
                or _compute_log_probability(len(measured), points, outliers, n_far_outliers) <= LOG_RERUN_PROBABILITY
            ):
                suspected = suspected or self._list_suspected_changes(runs)
        return [*self.confirmed, *suspected]

    def _list_suspected_changes(self, runs: Sequence[Number]) -> list[LevelChange]:
        """Return the changes that the newest runs show if none of them were outliers."""
        why = "the previous level repeats; more runs of this revision can decide"
        if self._count_outliers():
            return [self._make_change(runs, "repeat", why, unsure=True)]
        level, start, suspicions = self._level, self.points - len(runs), []
        for index, value in enumerate(runs, start):
            if value != level:
                evidence = f"{format_change(level, value)}: {why}"
                suspicions.append(LevelChange(index, level, value, index, index, "exact", evidence, wants_rerun=True))
            level = value
        return suspicions


def _count_transitions(values: Sequence[Number]) -> int:
    """Return how often successive values differ."""
    return sum(a != b for a, b in pairwise(values))


def _find_first_repeated(values: Sequence[Number]) -> int:
    """Return the index of the first value that the next one repeats, otherwise of the most frequent value."""
    for index, (value, following) in enumerate(pairwise(values)):
        if value == following:
            return index
    return values.index(Counter(values).most_common(1)[0][0])


def _compute_log_probability(size: int, points: int, outliers: int, n_far: int | None) -> float:
    """Return the logarithm of the probability that as many newest runs of all points are outliers; see _is_change."""
    orders = compute_log_choose(points, size)
    log_probability = compute_log_choose(outliers + size, size) - orders
    if n_far is not None and n_far < outliers:
        log_probability = min(log_probability, LOG_TWO_TESTS + compute_log_choose(n_far + size, size) - orders)
    return log_probability


def _is_change(
    pending: Sequence[Number], level: Number, points: int, outliers: int, *, exact: bool, far: int | None = None
) -> bool:
    """Return whether the pending runs, the last of so many points, cannot be outliers.

    Parameters
    ----------
    outliers
        Runs that were outliers before.
    far
        Those of them that went as far as the pending ones; None if all did.
    """
    size = len(pending)
    if size < MIN_CHANGE_RUNS:
        return False
    log_probability = _compute_log_probability(size, points, outliers, far)
    if _count_transitions(pending) <= size // 3:
        return log_probability <= (-LOG_MIN_ORDERS if exact and outliers == 0 else LOG_MAX_CHANCE)
    return log_probability <= LOG_MAX_CHANCE and (min(pending) > level or max(pending) < level)
