"""Compares what was stored at different times: whether the runs that belong together differ. Pure.

:mod:`service.rules.comparison.in_turns` judges runs that were measured in turns. Here the two sides can lie months
apart, so the trend comes first: a drift between them is a difference, and where there is none a count that is the same
on both sides needs no more samples to be called the same.

A comparison can have thousands of rows, of which one page is shown: all are judged, because they are counted and put in
order by that, but only what is shown is told in full.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from math import inf
from typing import Any, NamedTuple

from runner.contract import Metric, MetricVerdict, Verdict, metric
from runner.contract.level import bounds, enough, median
from service.rules.comparison import in_turns
from service.rules.comparison.in_turns import MetricDecision
from service.rules.comparison.pairing import Pair, Runs
from service.schemas.history import Number
from service.text.numbers import unit_of


class SideReadings(NamedTuple):
    """One metric over the runs of one side."""

    held: Sequence[Number] | str = ()
    """The samples, or the JSON of them: of most rows they are never looked at."""
    n: int = 0
    level: Number | None = None
    """Their median."""
    counted: bool = False
    """Whether each is a count, and none an estimate."""
    series: int | None = None
    """The series that the newest run has its point in."""

    @property
    def samples(self) -> Sequence[Number]:
        """All samples that have a value."""
        return json.loads(self.held) if isinstance(self.held, str) else self.held


ByRun = Mapping[int, dict[str, SideReadings]]
"""What was measured, by the run's number and the metric."""
_NOTHING = SideReadings()


class StoredDrift(NamedTuple):
    """A drift of a series, and its place in the history."""

    position: int
    environment_before: str
    environment_after: str
    told: str


class ComparedMetric(NamedTuple):
    """One metric of one pair, judged."""

    pair: Pair
    metric: Metric
    base: SideReadings
    head: SideReadings
    found: MetricDecision
    in_turns: MetricVerdict | None = None
    """The verdict about both sides measured in turns, which holds."""

    @property
    def counts(self) -> bool:
        """Whether it decides about the whole comparison."""
        return self.metric.exact if self.in_turns is None else self.in_turns.counts

    @property
    def size(self) -> float:
        """The size of the change in percent of the base; infinite from zero to anything."""
        if self.in_turns is not None:
            change, percent = self.in_turns.change, self.in_turns.percent
        else:
            level = self.base.level
            change = None if level is None or self.head.level is None else self.head.level - level
            percent = in_turns.percent(change, level)
        return 0.0 if not change else inf if percent is None else abs(percent)

    def tell(self) -> MetricVerdict:
        """Put the verdict together, with its work."""
        if self.in_turns is not None:
            return self.in_turns
        threshold = 1 if self.metric.exact else in_turns.PRECISION
        sides = self.base.samples, self.head.samples
        return in_turns.verdict_of(self.metric.name, self.found, *sides, counts=self.counts, threshold=threshold)


def stored_drift(position: int, drift: Mapping[str, Any]) -> StoredDrift:
    """Return a drift as a comparison tells it; `drift` is a :class:`service.schemas.history.Drift` as JSON has it."""
    knobs = ", ".join(knob["name"] for knob in drift["knobs"][:2])
    what = knobs if drift["cause"] == "config" else drift["revision"][:10]
    told = f"{drift['change']:+,} {unit_of(drift['change'], drift['unit'])} at {what}"
    return StoredDrift(position, drift["environment_before"], drift["environment_after"], told)


def compare(
    pairs: Iterable[Pair],
    readings: ByRun,
    steps: Mapping[int, Sequence[StoredDrift]],
    measured_in_turns: Mapping[str, MetricVerdict],
) -> list[ComparedMetric]:
    """Judge every metric that either side of a pair has a value of.

    Parameters
    ----------
    readings
        Of the runs of all pairs.
    steps
        The drifts of series, by the series' number.
    measured_in_turns
        Verdicts, by metric, where both sides were measured in turns: they hold.
    """
    times = Counter(chain.from_iterable(readings.values()))
    error = in_turns.ERROR / (sum(count for name, count in times.items() if not metric(name).judged) or 1)
    known = cache(metric)  # an event of a workload file has no entry: one would be made for each row
    found = []
    for pair in pairs:
        left, right = _together(pair.base, readings), _together(pair.head, readings)
        for name in left | right:
            entry, base, head = known(name), left.get(name, _NOTHING), right.get(name, _NOTHING)
            told = measured_in_turns.get(name)
            if told is not None:
                found.append(
                    ComparedMetric(
                        pair, entry, base, head, MetricDecision(told.verdict, told.rule, told.sentence), told
                    )
                )
            elif base.n or head.n:
                own = steps.get(base.series) if base.series is not None and base.series == head.series else None
                between = [one.told for one in own if _lies_between(one, pair)] if own else ()
                found.append(ComparedMetric(pair, entry, base, head, judge(entry, base, head, between, error)))
    return found


def judge(
    known: Metric, base: SideReadings, head: SideReadings, between: Sequence[str], error: float
) -> MetricDecision:
    """Say whether one metric differs between the two sides of a pair.

    Parameters
    ----------
    between
        The drifts that were found between both sides, as they are told.
    error
        Chance to call a noisy metric changed that is not.
    """
    if between:
        return _by_trend(base, head, between)
    exact = known.exact and base.counted and head.counted and base.n and head.n
    found = in_turns.judge_exact(base.samples, head.samples) if exact else None
    if found is None:
        return _apart(base, head, error)
    if found.verdict is Verdict.NEEDS_MORE_RUNS and base.level == head.level:
        return MetricDecision(Verdict.SAME, "trend", "The same count, and no drift was found between them.")
    return found


def _pooled(parts: Sequence[SideReadings]) -> SideReadings:
    """Take runs together that repeat each other, the newest first."""
    if len(parts) == 1:
        return parts[0]
    samples = tuple(chain.from_iterable(part.samples for part in parts))
    return SideReadings(samples, len(samples), median(samples), all(part.counted for part in parts), parts[0].series)


def _together(runs: Runs, readings: ByRun) -> dict[str, SideReadings]:
    if len(runs) == 1:
        return readings.get(runs[0].number, {})
    there = [readings.get(run.number, {}) for run in runs]
    return {name: _pooled([one[name] for one in there if name in one]) for name in dict.fromkeys(chain(*there))}


def _lies_between(one: StoredDrift, pair: Pair) -> bool:
    base, head = pair.base[0], pair.head[0]
    environments = {base.environment, head.environment}
    if one.environment_before != one.environment_after:
        return {one.environment_before, one.environment_after} == environments
    low, high = sorted((base.position, head.position))
    return one.environment_after in environments and low < one.position <= high


def _by_trend(base: SideReadings, head: SideReadings, between: Sequence[str]) -> MetricDecision:
    many = "A drift was" if len(between) == 1 else f"{len(between)} drifts were"
    more = f", and {len(between) - 3} more" if len(between) > 3 else ""
    told = f"{many} found between them: {'; '.join(between[:3])}{more}."
    if base.level == head.level:
        return MetricDecision(Verdict.SAME, "trend", f"{told} Together they cancel out.")
    return MetricDecision(Verdict.CHANGED, "trend", told)


def _apart(base: SideReadings, head: SideReadings, error: float) -> MetricDecision:
    """Judge noise: each side's median lies within bounds that hold however it is distributed."""
    if base.level is None or head.level is None:
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", "One side has no value.")
    few = min(base.n, head.n)
    if not enough(few, error / 2):
        sentence = f"The metric is noisy, and {few} sample{'s' if few > 1 else ''} of a side are too few to judge by."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "apart", sentence)
    left, right = bounds(base.samples, error / 2), bounds(head.samples, error / 2)
    assert left is not None
    assert right is not None
    size = max(abs(base.level), abs(head.level)) or 1
    widest = 100 * max(abs(right[1] - left[0]), abs(right[0] - left[1])) / size
    far = left[1] < right[0] or right[1] < left[0]
    shown = f"The medians lie within {left[0]:,.6g} – {left[1]:,.6g} and {right[0]:,.6g} – {right[1]:,.6g}"
    if far and 200 * abs(head.level - base.level) / size >= in_turns.PRECISION:
        verdict, sentence = Verdict.CHANGED, f"{shown}: apart, with an error of {error:.2g}."
    elif widest < in_turns.PRECISION:
        verdict, sentence = Verdict.SAME, f"{shown}: less than {in_turns.PRECISION:g} % from each other."
    else:
        verdict, sentence = Verdict.NEEDS_MORE_RUNS, f"{shown}: not apart, and not near enough to call them the same."
    return MetricDecision(verdict, "apart", f"{sentence} They were not measured in turns.")
