"""Compares one metric of a cell with the default: exactly, by a confidence interval, or not at all.

Runs that were measured interleaved are compared by the rules of a comparison. Of runs from different sessions, only
counts are compared: each side has to repeat its count, and small differences show nothing, because runs with the same
bytes can differ as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.contract import Verdict, get_metric
from runner.contract.judging import DEFAULT_PRECISION_PERCENT
from runner.contract.level import Number, compute_median, is_repeating
from service.lab.schemas import Effect, LabCertainty, LabMetric
from service.rules.comparison.error_probability import FALSE_ALARM_PROBABILITY
from service.rules.comparison.metric_decision import SideNames, decide_count, decide_noisy_metric
from service.rules.relative_change import compute_percent_change, convert_to_percent_of_base
from service.rules.series import noise_floor

FAULTS, SYSTEM_TIME, THROUGHPUT, MEMORY, ELAPSED = ("minor-faults", "sys-time", "throughput", "max-rss", "elapsed")
METRICS = (FAULTS, "major-faults", SYSTEM_TIME, THROUGHPUT, ELAPSED, MEMORY)
"""The metrics of a cell; elapsed time replaces the throughput if the program does not report it."""
_MIN_SAMPLES = 2
"""The number of samples in which a count has to repeat to be certain."""
_DEFAULT_AND_CELL = SideNames("the default", "the cell", "samples of the default", "samples of the cell")


@dataclass(frozen=True, slots=True)
class Readings:
    """One metric of one run: the values of all samples, None for a sample without a value."""

    values: Sequence[Number | None]
    counted: bool = True
    """Whether all values were counted, and none is an estimate."""

    @property
    def present_values(self) -> list[Number]:
        """The values of the samples that have one."""
        return [value for value in self.values if value is not None]


def compare_metric(
    metric: str, default: Readings | None, cell: Readings, *, interleaved: bool, n_cells: int = 1, objection: str = ""
) -> LabMetric:
    """Return a metric of a cell: its level and range, and, if both have a level, its change from the default.

    Parameters
    ----------
    default
        The readings of the default; None if it is not measured.
    interleaved
        Whether both were measured interleaved in one session. Otherwise, only counts that repeat can be judged.
    n_cells
        How many cells are compared with the default. The probability of a false alarm is divided by the number of
        comparisons, which is that of the cells times that of the metrics (Bonferroni correction).
    objection
        Why the two are not comparable; empty if they are.
    """
    values = cell.present_values
    lab_metric = LabMetric(
        metric=metric,
        level=compute_median(values),
        low=min(values, default=None),
        high=max(values, default=None),
        n=len(values),
        repeats=cell.counted and get_metric(metric).exact and is_repeating(values),
    )
    default_level = compute_median(default.present_values) if default is not None else None
    if default is None or default_level is None or lab_metric.level is None:
        return lab_metric
    change = lab_metric.level - default_level
    lab_metric = lab_metric.model_copy(
        update={"change": change, "percent": compute_percent_change(change, default_level)}
    )
    if objection:
        return lab_metric.model_copy(update={"sentence": objection})
    alpha = FALSE_ALARM_PROBABILITY / (n_cells * len(METRICS))
    if interleaved:
        return _compare_interleaved_samples(lab_metric, default, cell, alpha)
    return _compare_separate_sessions(lab_metric, default, cell)


def _compare_interleaved_samples(entry: LabMetric, default: Readings, cell: Readings, alpha: float) -> LabMetric:
    """Compare a metric of a cell with the default in pairs of one session: exactly, or by an interval.

    Parameters
    ----------
    alpha
        The allowed probability of a false alarm.
    """
    # zip drops a value without a partner: a session that ended early can have one more execution of one side.
    value_pairs = zip(default.values, cell.values, strict=False)
    pairs = [
        (default_value, cell_value)
        for default_value, cell_value in value_pairs
        if default_value is not None and cell_value is not None
    ]
    if not pairs:
        return entry.model_copy(update={"sentence": "No pair of samples has a value on both sides."})
    is_exact = get_metric(entry.metric).exact and default.counted and cell.counted
    decision = (
        decide_count(pairs, alpha, names=_DEFAULT_AND_CELL)
        if is_exact
        else decide_noisy_metric(pairs, DEFAULT_PRECISION_PERCENT, alpha, names=_DEFAULT_AND_CELL)
    )
    certainty = LabCertainty.EXACT if is_exact else LabCertainty.INTERVAL
    effect = Effect.OPEN
    if decision.verdict is Verdict.SAME:
        effect = Effect.SAME
    elif decision.verdict is Verdict.CHANGED and decision.changed_pairs is None:
        effect = _decide_effect(entry.metric, decision.direction)
    elif decision.interval is None:
        # There are too few pairs, or a count changes only in some of them (`changed_pairs`).
        certainty = LabCertainty.OPEN
    bounds = None if is_exact or decision.interval is None else _convert_bounds_to_default(decision.interval)
    updates = {"certainty": certainty, "effect": effect, "bounds": bounds, "sentence": decision.sentence}
    return entry.model_copy(update=updates)


def _compare_separate_sessions(entry: LabMetric, default: Readings, cell: Readings) -> LabMetric:
    """Compare a metric with the default from another session: only counts that repeat on both sides can be compared."""
    metric_entry, change = get_metric(entry.metric), entry.change or 0
    if not (metric_entry.exact and default.counted and cell.counted):
        sentence = (
            "Measured in a different session from the default, so only an interleaved measurement can compare the two."
        )
        return entry.model_copy(update={"certainty": LabCertainty.APART, "sentence": sentence})
    if not all(
        len(side.present_values) >= _MIN_SAMPLES and is_repeating(side.present_values) for side in (default, cell)
    ):
        sentence = (
            "On at least one side, the count varies or there are too few samples, so only an interleaved measurement "
            "can compare the cells."
        )
        return entry.model_copy(update={"certainty": LabCertainty.APART, "sentence": sentence})
    if 0 < abs(change) <= noise_floor.MAX_FLOOR_FAULTS:
        sentence = (
            "Measured in a different session from the default. Even with the same settings, the counts of two sessions "
            f"can differ by up to {noise_floor.MAX_FLOOR_FAULTS} faults."
        )
        return entry.model_copy(update={"certainty": LabCertainty.APART, "sentence": sentence})
    effect = _decide_effect(entry.metric, change) if change else Effect.SAME
    sentence = "On each side, at least nine in ten samples have the same count, so the two counts can be compared."
    return entry.model_copy(update={"certainty": LabCertainty.EXACT, "effect": effect, "sentence": sentence})


def _convert_bounds_to_default(interval: tuple[float, float]) -> tuple[float, float] | None:
    """Convert bounds from percent of both sides' mean to percent of the default; None if the default may be zero."""
    low, high = (convert_to_percent_of_base(bound) for bound in interval)
    return None if low is None or high is None else (low, high)


def _decide_effect(metric: str, change: Number) -> Effect:
    return Effect.BETTER if (change > 0) == (get_metric(metric).better == "higher") else Effect.WORSE
