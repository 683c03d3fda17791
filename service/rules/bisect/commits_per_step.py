"""Decides how many commits a search builds and measures in one step.

With *k* commits per step, a range shrinks to 1/(k + 1), so a step gains log₂(k + 1) bits. It takes the time of *k*
builds, which run in parallel as far as the processors allow, and of *k* measurements, one after the other.
"""

from __future__ import annotations

from math import log2

from runner.contract.commit_search import Pace

_COMMITS_OF_FIRST_STEP = 2
"""The number of commits before any time is known: both ends of the range have to be measured in any case."""


def choose_commits_at_once(pace: Pace) -> int:
    """Return how many commits to build and measure per step, so that the search takes the least time."""
    if pace.build_seconds is None or pace.measure_seconds is None:
        return min(_COMMITS_OF_FIRST_STEP, pace.build_jobs)
    return min(range(1, pace.build_jobs + 1), key=lambda n_commits: _estimate_seconds_per_bit(pace, n_commits))


def _estimate_seconds_per_bit(pace: Pace, n_commits: int) -> float:
    """Return the seconds that a step takes for each bit of information: n commits cut the range into n + 1 parts."""
    build_seconds, measure_seconds = pace.build_seconds or 0.0, pace.measure_seconds or 0.0
    # There are as many processors as parallel builds. A build that uses several processors slows the others down.
    all_builds_seconds = max(build_seconds, n_commits * (pace.build_cpu_seconds or 0.0) / pace.build_jobs)
    return (all_builds_seconds + n_commits * measure_seconds) / log2(n_commits + 1)
