"""Compares runs that were stored at different times.

:mod:`service.rules.comparison.comparison_verdict` judges runs that were measured interleaved. Here the two sides can
lie months apart, and the samples of one run share the peculiarities of its session. So the trend decides: a drift
between the two sides is a difference, unless the drift is in doubt. Without a drift, a count that repeats and is equal
on both sides is the same. Counts that differ without a drift can only be judged if each side has several runs, by the
rule of :mod:`service.rules.comparison.metric_decision`. Noisy metrics cannot be judged without a drift, because it is
unknown how much sessions differ. If the trend of both runs is judged, it is known at least that no drift lies between
them.

A comparison can have thousands of metrics, of which one page is shown. All of them are judged, because the page counts
and sorts them by their decisions; full verdicts are built only for the metrics shown.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from math import inf
from types import MappingProxyType
from typing import Any, NamedTuple

from runner.contract import Metric, MetricVerdict, Verdict, get_metric
from runner.contract.level import compute_median, is_repeating
from runner.contract.number_text import format_difference
from service.rules.comparison import comparison_verdict
from service.rules.comparison.error_probability import FALSE_ALARM_PROBABILITY
from service.rules.comparison.metric_decision import MetricDecision, decide_count
from service.rules.comparison.run_pairing import Pair, Runs
from service.rules.relative_change import compute_percent_change, is_mostly_suspected
from service.schemas.history import Cause, Number, SettingChange
from service.text.cause_text import name_candidates
from service.text.setting_words import describe_setting_changes


class SideReadings(NamedTuple):
    """One metric over the runs of one side."""

    samples_or_json: Sequence[Number] | str = ()
    """The samples, or their JSON text, because most of them are never read."""
    n: int = 0
    level: Number | None = None
    """Their median."""
    counted: bool = False
    """Whether all samples were counted, and none was estimated."""
    series: int | None = None
    """The series of the newest run's point."""

    @property
    def samples(self) -> Sequence[Number]:
        """All samples that have a value."""
        return json.loads(self.samples_or_json) if isinstance(self.samples_or_json, str) else self.samples_or_json


ByRun = Mapping[int, dict[str, SideReadings]]
"""The readings by the number of the run, then by metric."""
Histories = Mapping[str, Collection[str]]
"""The commits that a compared commit contains, by its hash."""
_NO_READINGS = SideReadings()
_MIN_RUNS_PER_SIDE = 2
"""Differing counts are judged only if each side has at least this many runs: a single run may be an outlier."""
_MAX_DESCRIBED_DRIFTS = 3
"""The sentence about a metric describes at most this many drifts, and gives the number of the others."""
_EQUAL_COUNTS = MetricDecision(
    Verdict.SAME, "trend", "The count is the same, and no drift between base and head is known."
)
_NO_BASE, _NO_HEAD = (
    MetricDecision(Verdict.NEEDS_MORE_RUNS, "absent", f"{side} has no value.") for side in ("Base", "Head")
)
_NOISY_SESSIONS, _DIFFERING_SESSIONS = (
    MetricDecision(Verdict.NEEDS_MORE_RUNS, "apart", sentence)
    for sentence in (
        "The metric is noisy, so only an interleaved measurement can show whether base and head differ.",
        "Base and head were not measured interleaved, and their runs are too few, or vary too much, to show whether "
        "the counts differ.",
    )
)
_NO_DRIFT = MetricDecision(
    Verdict.NEEDS_MORE_RUNS,
    "apart",
    "No drift lies between base and head. Only an interleaved measurement can show whether they differ by less than a "
    "drift.",
)


class DriftSummary(NamedTuple):
    """A drift of a series, described in words, with its location in the history."""

    position: int
    revision: str
    """The first commit on the new level."""
    environment_before: str
    environment_after: str
    change: Number
    description: str
    in_doubt: bool = False
    """Whether a rerun has to confirm it."""
    stand_ins: Mapping[str, str] = MappingProxyType({})
    """For environments of a pool, the equivalent environments that replace them in the series, and so in the drift."""


class ComparedMetric(NamedTuple):
    """The decision on one metric of one pair."""

    pair: Pair
    metric: Metric
    base: SideReadings
    head: SideReadings
    decision: MetricDecision
    interleaved: MetricVerdict | None = None
    """The verdict from an interleaved measurement of both sides, which takes precedence; None if there is none."""

    @property
    def is_without_drift(self) -> bool:
        """Whether the only thing known about both sides is that their trend has no drift between them."""
        return self.decision is _NO_DRIFT

    @property
    def counts(self) -> bool:
        """Whether the metric counts towards the verdict on the whole comparison."""
        return self.metric.exact if self.interleaved is None else self.interleaved.counts

    @property
    def size(self) -> float:
        """The absolute change in percent of base; infinite if base is zero."""
        if self.interleaved is not None:
            change, percent = self.interleaved.change, self.interleaved.percent
        else:
            level = self.base.level
            change = None if level is None or self.head.level is None else self.head.level - level
            percent = compute_percent_change(change, level)
        if not change:
            return 0.0
        return inf if percent is None else abs(percent)

    def build_verdict(self) -> MetricVerdict:
        """Return the decision as a verdict, with levels, threshold and bounds."""
        if self.interleaved is not None:
            return self.interleaved
        threshold = 1 if self.metric.exact else None
        sides = self.base.samples, self.head.samples
        return comparison_verdict.build_verdict(
            self.metric.name, self.decision, *sides, counts=self.counts, threshold=threshold
        )


def summarise_drift(
    position: int, drift: Mapping[str, Any], stand_ins: Mapping[str, str] = MappingProxyType({})
) -> DriftSummary:
    """Return the summary of a drift; `drift` is a :class:`service.schemas.history.Drift` as JSON."""
    # The settings are unknown if only system files differ, and their names are no longer stored.
    changes = [SettingChange.model_validate(setting) for setting in drift["settings"]]
    settings = describe_setting_changes(changes) if changes else "a change of the configuration"
    commits = [candidate["commit"] for candidate in drift["candidates"]]
    commit_words = name_candidates(commits, "", all_known=drift.get("candidates_known", True)) or drift["revision"][:10]
    culprit_words = {Cause.CONFIG: settings, Cause.COMMIT_AND_CONFIG: f"{commit_words}, or {settings}"}.get(
        drift["cause"], commit_words
    )
    is_in_doubt = drift["evidence"]["wants_rerun"]
    description = (
        f"{format_difference(drift['change'], drift['unit'])} at {culprit_words}{' (suspected)' if is_in_doubt else ''}"
    )
    environments = drift["environment_before"], drift["environment_after"]
    return DriftSummary(
        position,
        drift["revision"],
        *environments,
        drift["change"],
        description,
        in_doubt=is_in_doubt,
        stand_ins=stand_ins,
    )


def compare_pairs(  # noqa: PLR0917 - everything that is known about the pairs
    pairs: Iterable[Pair],
    readings: ByRun,
    drifts: Mapping[int, Sequence[DriftSummary]],
    interleaved_verdicts: Mapping[str, MetricVerdict],
    histories: Histories = MappingProxyType({}),
    judged_series: Collection[int] = frozenset(),
) -> list[ComparedMetric]:
    """Return a decision on every metric for which either side of a pair has a value.

    Parameters
    ----------
    readings
        Readings of the runs of all pairs.
    drifts
        The drifts of each series, by the series' number.
    interleaved_verdicts
        By metric, the verdict from an interleaved measurement of both sides if there is one; it takes precedence.
    histories
        The commits that each compared commit contains; nothing for commits on a history without branches.
    judged_series
        The series in which all drifts are known.
    """
    # Every run of an exact metric gets an equal share of the error probability.
    n_runs_of_metric = Counter(chain.from_iterable(readings.values()))
    alpha = FALSE_ALARM_PROBABILITY / (
        sum(count for name, count in n_runs_of_metric.items() if get_metric(name).exact) or 1
    )
    cached_metric = cache(get_metric)  # A metric outside the catalogue gets a new entry at each call.
    compared_metrics = []
    for pair in pairs:
        base_readings = _pool_readings_by_metric(pair.base, readings)
        head_readings = _pool_readings_by_metric(pair.head, readings)
        for name in base_readings | head_readings:
            metric_entry = cached_metric(name)
            base = base_readings.get(name, _NO_READINGS)
            head = head_readings.get(name, _NO_READINGS)
            verdict = interleaved_verdicts.get(name)
            if verdict is not None:
                decision = MetricDecision(verdict.verdict, verdict.rule, verdict.sentence)
                compared_metrics.append(ComparedMetric(pair, metric_entry, base, head, decision, verdict))
            elif base.n or head.n:
                drifts_between = _list_drifts_between(pair, base, head, drifts, histories)
                has_both_levels = base.level is not None and head.level is not None
                if drifts_between and has_both_levels:
                    decision = _decide_metric_by_trend(base, head, drifts_between)
                else:
                    decision = _decide_metric_without_drift(metric_entry, pair, base, head, alpha)
                    has_one_trend = base.series == head.series and base.series in judged_series
                    if has_one_trend and decision in {_NOISY_SESSIONS, _DIFFERING_SESSIONS}:
                        decision = _NO_DRIFT
                compared_metrics.append(ComparedMetric(pair, metric_entry, base, head, decision))
    return compared_metrics


def _list_drifts_between(
    pair: Pair,
    base: SideReadings,
    head: SideReadings,
    drifts: Mapping[int, Sequence[DriftSummary]],
    histories: Histories,
) -> list[DriftSummary]:
    """Return the drifts between the two sides of a pair; the trend connects them only if they are of one series."""
    if base.series is None or base.series != head.series:
        return []
    return [drift for drift in drifts.get(base.series, ()) if is_drift_between(drift, pair, histories)]


def _decide_metric_without_drift(
    entry: Metric, pair: Pair, base: SideReadings, head: SideReadings, alpha: float
) -> MetricDecision:
    """Return the decision on a metric if there is no drift between the two sides."""
    if base.level is None:
        return _NO_BASE
    if head.level is None:
        return _NO_HEAD
    if not (entry.exact and base.counted and head.counted):
        return _NOISY_SESSIONS
    if base.level == head.level and is_repeating(base.samples) and is_repeating(head.samples):
        return _EQUAL_COUNTS
    if min(len(pair.base), len(pair.head)) < _MIN_RUNS_PER_SIDE:
        return _DIFFERING_SESSIONS
    n_pairs = min(base.n, head.n)
    decision = decide_count(list(zip(base.samples[:n_pairs], head.samples[:n_pairs], strict=True)), alpha)
    return decision if decision.verdict is Verdict.CHANGED else _DIFFERING_SESSIONS


def _pool_readings(readings_of_runs: Sequence[SideReadings]) -> SideReadings:
    """Pool the readings of equivalent runs, the newest first."""
    if len(readings_of_runs) == 1:
        return readings_of_runs[0]
    samples = tuple(chain.from_iterable(readings.samples for readings in readings_of_runs))
    return SideReadings(
        samples,
        n=len(samples),
        level=compute_median(samples),
        counted=all(readings.counted for readings in readings_of_runs),
        series=readings_of_runs[0].series,
    )


def _pool_readings_by_metric(runs: Runs, readings: ByRun) -> dict[str, SideReadings]:
    """Pool the readings of equivalent runs, metric by metric."""
    if len(runs) == 1:
        return readings.get(runs[0].number, {})
    readings_of_runs = [readings.get(run.number, {}) for run in runs]
    return {
        name: _pool_readings([readings_of_run[name] for readings_of_run in readings_of_runs if name in readings_of_run])
        for name in dict.fromkeys(chain(*readings_of_runs))
    }


def is_drift_between(drift: DriftSummary, pair: Pair, histories: Histories = MappingProxyType({})) -> bool:
    """Return whether a drift lies on the path from base to head.

    Between two environments, the path can lead through others, so drifts in these count as well. A drift within one
    environment that is on another branch, which both sides contain or both lack, is not on the path, although its
    position may be between theirs.

    Parameters
    ----------
    histories
        The commits that each compared commit contains; empty for a history without branches.
    """
    base, head = pair.base[0], pair.head[0]  # the newest run stands for its side
    low, high = sorted((base.position, head.position))
    is_in_base, is_in_head = (drift.revision in histories.get(run.revision, ()) for run in (base, head))
    is_on_path = low < drift.position <= high and (not histories or is_in_base != is_in_head)
    # In a pool, one environment stands for all equivalent ones.
    base_environment, head_environment = (drift.stand_ins.get(run.environment, run.environment) for run in (base, head))
    if base_environment == head_environment:
        is_one_environment = drift.environment_before == drift.environment_after == base_environment
        return is_one_environment and is_on_path
    # A change of environment can lie at the revision of base itself. A change between exactly the two environments
    # separates the sides wherever it lies, because commits are not always measured in the order of the history. It does
    # so whatever branch its revision is on.
    if drift.environment_before != drift.environment_after:
        ends = {drift.environment_before, drift.environment_after}
        return ends == {base_environment, head_environment} or low <= drift.position <= high
    return is_on_path


def _decide_metric_by_trend(
    base: SideReadings, head: SideReadings, drifts_between: Sequence[DriftSummary]
) -> MetricDecision:
    """Return the decision that follows from the drifts between base and head: changed, in doubt, or cancelled out."""
    is_suspected = all(drift.in_doubt for drift in drifts_between)
    drift_words = "a drift" if len(drifts_between) == 1 else f"{len(drifts_between)} drifts"
    verb = "may be" if is_suspected else "is" if len(drifts_between) == 1 else "are"
    n_further = len(drifts_between) - _MAX_DESCRIBED_DRIFTS
    further_words = f", and {n_further} more" if n_further > 0 else ""
    descriptions = "; ".join(drift.description for drift in drifts_between[:_MAX_DESCRIBED_DRIFTS])
    sentence = f"There {verb} {drift_words} between base and head: {descriptions}{further_words}."
    if is_suspected:
        pronoun = "it" if len(drifts_between) == 1 else "them"
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "trend", f"{sentence} Further runs can confirm {pronoun}.")
    if base.level == head.level:
        reason = "Nevertheless, both sides have the same level." if len(drifts_between) == 1 else "They cancel out."
        return MetricDecision(Verdict.SAME, "trend", f"{sentence} {reason}")
    certain, suspected = (
        [drift.change for drift in drifts_between if drift.in_doubt is in_doubt] for in_doubt in (False, True)
    )
    net_change = 0 if base.level is None or head.level is None else head.level - base.level
    if is_mostly_suspected(net_change, certain, suspected):
        doubt = "The certain ones explain less than half of the difference, so further runs have to confirm the others."
        return MetricDecision(Verdict.NEEDS_MORE_RUNS, "trend", f"{sentence} {doubt}")
    return MetricDecision(Verdict.CHANGED, "trend", sentence)
