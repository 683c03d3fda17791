"""Detects from one run of a suite that many benchmarks shifted together, by too little to show in any single one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from runner.contract.number_text import format_number, format_signed_number
from service.rules.detect.input_numbers import check_numbers, subtract_origin
from service.rules.detect.level_change import Number
from service.rules.detect.median_of_nine import Floats
from service.rules.detect.normal_scores import compute_normal_scores

MIN_BENCHMARKS = 8  # a pooled verdict needs at least this many benchmarks
MIN_HISTORY_POINTS = 8  # a benchmark with a shorter history is left out
MAX_HISTORY_POINTS = 64  # only the newest points of each history are read
TRIMMED_SHARE = 0.1  # share of the benchmarks that is trimmed at each end
FALSE_ALARM_PROBABILITY = 5e-4  # probability of reporting a shift where there is none


@dataclass(frozen=True, slots=True)
class PooledShift:
    """A common shift of a whole suite, which is one event.

    Attributes
    ----------
    shift : float
        Trimmed mean of the benchmarks' shifts, in the unit of the series.
    low, high : float
        95 % confidence interval of the shift.
    p_value : float
        Probability of a shift at least as large where nothing changed.
    benchmarks : int
        Number of benchmarks that were judged.
    n_moved : int
        Number of benchmarks that moved in the direction of the shift.
    evidence : str
        The reason in one sentence, for people.
    """

    shift: float
    low: float
    high: float
    p_value: float
    benchmarks: int
    n_moved: int
    evidence: str


def find_pooled_shift(
    histories: Sequence[Sequence[Number]],
    newest_values: Sequence[Number],
    *,
    max_false_alarm_probability: float = FALSE_ALARM_PROBABILITY,
) -> PooledShift | None:
    """Return the common shift of a suite's newest run; None if it did not shift as a whole.

    Each benchmark's newest value is replaced by its normal score among the benchmark's history, so that modes and heavy
    tails of single benchmarks do not matter. The trimmed mean of all scores is tested by Yuen's one-sample test ("The
    two-sample trimmed t for unequal population variances", Biometrika 61, 1974; the one-sample form is by Tukey and
    McLaughlin, 1963). The noise must be nearly independent between benchmarks.

    Parameters
    ----------
    histories : sequence of sequences
        For each benchmark, its values since its last known change, oldest first; a benchmark with fewer than 8 is left
        out.
    newest_values : sequence
        For each benchmark, its value in the run that is judged.
    max_false_alarm_probability : float
        Largest accepted probability of a false alarm.

    Returns
    -------
    PooledShift or None
        None if there is no shift, or fewer than 8 benchmarks can be judged.

    Raises
    ------
    ValueError
        If the two sequences differ in length or a number is not finite.
    """
    if len(histories) != len(newest_values):
        raise ValueError(f"`histories` has {len(histories)} benchmarks, but `newest_values` has {len(newest_values)}")
    # Each benchmark's offset from its own history, and its normal score among it.
    newest_values = check_numbers(newest_values, 0, "newest")
    offsets_and_scores = [
        _compute_offset_and_score(check_numbers(history, 0, f"histories[{i}]")[-MAX_HISTORY_POINTS:], value)
        for i, (history, value) in enumerate(zip(histories, newest_values, strict=True))
        if len(history) >= MIN_HISTORY_POINTS
    ]
    if len(offsets_and_scores) < MIN_BENCHMARKS:
        return None

    # Trimmed mean of the offsets. If all are equal, no test is needed; otherwise Yuen's test of the scores decides.
    offsets, scores = np.array(offsets_and_scores).T
    shift, error, degrees_of_freedom = _compute_trimmed_mean(offsets)
    if error == 0.0:
        return _build_shift(shift, margin=0.0, p=0.0, offsets=offsets) if shift else None
    p = _compute_two_sided_p(_compute_yuen_t(scores), degrees_of_freedom)
    if p > max_false_alarm_probability:
        return None
    margin = error * _compute_t_quantile(degrees_of_freedom)
    return _build_shift(shift, margin=margin, p=p, offsets=offsets)


def _compute_offset_and_score(history: list[Number], value: Number) -> tuple[float, float]:
    """Return the difference of a value from the level of its history, and its normal score among this history."""
    values = subtract_origin([*history, value], history[0])
    return float(values[-1] - np.median(values[:-1])), float(compute_normal_scores(values)[-1])


def _compute_trimmed_mean(values: Floats) -> tuple[float, float, int]:
    """Return the trimmed mean, its standard error from the winsorised variance, and the degrees of freedom."""
    n = len(values)
    n_trimmed = int(TRIMMED_SHARE * n)
    sorted_values = np.sort(values)
    mean = float(sorted_values[n_trimmed : n - n_trimmed].mean())
    winsorised_values = sorted_values.clip(sorted_values[n_trimmed], sorted_values[n - n_trimmed - 1])
    error = math.sqrt(float(winsorised_values.var(ddof=1)) / n) / (1 - 2 * TRIMMED_SHARE)
    return mean, error, n - 2 * n_trimmed - 1


def _compute_yuen_t(values: Floats) -> float:
    """Return Yuen's t: the trimmed mean over its standard error; 0 if all values are equal."""
    mean, error, _ = _compute_trimmed_mean(values)
    return mean / error if error > 0 else 0.0


def _compute_two_sided_p(t: float, degrees_of_freedom: int) -> float:
    """Return the two-sided p-value of Student's t, from the finite series for integer degrees of freedom.

    See Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 26.7.3 and 26.7.4.
    """
    angle = math.atan(abs(t) / math.sqrt(degrees_of_freedom))
    cosine, sine = math.cos(angle), math.sin(angle)
    total, term = 0.0, cosine if degrees_of_freedom % 2 else 1.0
    for k in range(1 if degrees_of_freedom % 2 else 0, degrees_of_freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    inside = (2 / math.pi) * (angle + sine * total) if degrees_of_freedom % 2 else sine * total
    return max(0.0, 1.0 - inside)


def _compute_t_quantile(degrees_of_freedom: int) -> float:
    """Return the t that chance exceeds in absolute value with a probability of 5 %, found by bisection."""
    low, high = 0.0, 100.0  # the largest quantile, for one degree of freedom, is 12.7
    for _ in range(60):  # halves the interval to less than the resolution of a float
        middle = (low + high) / 2
        if _compute_two_sided_p(middle, degrees_of_freedom) > 0.05:
            low = middle
        else:
            high = middle
    return high


def _build_shift(shift: float, margin: float, p: float, offsets: Floats) -> PooledShift:
    """Return the shift with its 95 % bounds and the evidence in words.

    Parameters
    ----------
    margin
        How far the bounds are from the shift.
    p
        The probability of such a shift by chance.
    offsets
        The offset of each benchmark from its own history.
    """
    n_moved = int((offsets * math.copysign(1.0, shift) > 0).sum())
    n = len(offsets)
    evidence = (
        f"in one run, the trimmed mean of {n} series moved by {format_signed_number(shift)}, and {n_moved} of them "
        f"moved in that direction (p = {format_number(p)})"
    )
    return PooledShift(
        shift=shift,
        low=shift - margin,
        high=shift + margin,
        p_value=p,
        benchmarks=n,
        n_moved=n_moved,
        evidence=evidence,
    )
