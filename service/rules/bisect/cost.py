"""Estimates what a bisect costs before it is ordered: how many measurements, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

_RUNS_OF_ENDS = 2
"""Measurements of the two ends of the range, which come first."""
_RUNS_OF_PROOF = 2
"""Measurements of a proof: the culprit and its parent, interleaved. Both are already built by then."""


@dataclass(frozen=True, slots=True)
class BisectCost:
    """What a bisect is expected to cost.

    Attributes
    ----------
    runs
        Number of commits to measure, without the proof; None if the metric does not repeat, because the number then
        depends on the measurements.
    seconds
        Time until the end of the proof; None if it is unknown.
    """

    runs: int | None
    seconds: float | None


def estimate_runs(n_commits: int) -> int:
    """Return how many measurements it takes to find one culprit if the metric repeats, without the proof."""
    return _RUNS_OF_ENDS + ceil(log2(max(1, n_commits)))  # the only commit of a range is one of its ends


def estimate_cost(
    n_commits: int, *, exact: bool, build_seconds: float | None = None, measure_seconds: float | None = None
) -> BisectCost:
    """Return the expected cost of a search that builds one commit at a time, with no commit measured yet.

    Parameters
    ----------
    exact
        Whether the metric repeats.
    build_seconds, measure_seconds
        How long a recent build and measurement took; None if it is unknown.
    """
    if not exact:
        return BisectCost(None, None)
    runs = estimate_runs(n_commits)
    if measure_seconds is None:
        return BisectCost(runs, None)
    # Both commits of the proof are already built.
    return BisectCost(runs, runs * (build_seconds or 0.0) + (runs + _RUNS_OF_PROOF) * measure_seconds)
