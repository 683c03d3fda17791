"""Divides the error probability of a gate among its cases, and the share of each case among its metrics."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.judging import Judging

FALSE_ALARM_PROBABILITY = 0.001
"""Probability that a gate without a change calls any metric changed; it is divided among all cases and metrics."""


def divide_error_probability(names: Sequence[str], judging: Judging, n_cases: int) -> dict[str, float]:
    """Return the error probability of each metric of a case.

    All cases get equal shares. Half of a case's share goes to the metrics that count, and the other half to the metrics
    that are only shown.
    """
    counted_names = [name for name in names if judging.decides_comparison(name)]
    n_shown = len(names) - len(counted_names)
    half_share_of_case = FALSE_ALARM_PROBABILITY / n_cases / 2
    return {name: half_share_of_case / (len(counted_names) if name in counted_names else n_shown) for name in names}
