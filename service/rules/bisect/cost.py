"""Estimates what a bisect costs before it is ordered: how many measurements, and how long they take."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

_RUNS_OF_ENDS = 2
"""Both ends of the range are measured first."""
_RUNS_OF_PROOF = 2
"""A culprit and its parent are measured again, interleaved. Both are built by then."""


@dataclass(frozen=True, slots=True)
class BisectCost:
    """What a bisect is expected to cost.

    Attributes
    ----------
    runs
        Measurements without the proof, each of another commit; None if the metric does not repeat, and the search
        learns as it goes how many it needs.
    seconds
        Until the proof has ended; None if that is unknown.
    """

    runs: int | None
    seconds: float | None


def estimate_runs(n_commits: int) -> int:
    """Return how many measurements one culprit among some commits takes where the metric repeats, without the proof."""
    return _RUNS_OF_ENDS + ceil(log2(max(2, n_commits)))


def estimate_cost(
    n_commits: int, *, exact: bool, build_seconds: float | None = None, measure_seconds: float | None = None
) -> BisectCost:
    """Return what a search is expected to cost if it builds one commit at a time and has to measure them all.

    Parameters
    ----------
    exact
        Whether the metric repeats.
    build_seconds, measure_seconds
        How long a build and a measurement took lately; None if that is unknown.
    """
    if not exact:
        return BisectCost(None, None)
    runs = estimate_runs(n_commits)
    if measure_seconds is None:
        return BisectCost(runs, None)
    return BisectCost(runs, runs * (build_seconds or 0.0) + (runs + _RUNS_OF_PROOF) * measure_seconds)
