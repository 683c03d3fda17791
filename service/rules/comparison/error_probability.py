"""Divides the error probability of a gate among its cases, and that of a case among its metrics."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.judging import Judging

FALSE_ALARM_PROBABILITY = 0.001
"""Probability that a gate without a change calls any metric changed; it is shared among all cases and metrics."""


def divide_error_probability(names: Sequence[str], judging: Judging, cases: int) -> dict[str, float]:
    """Return the error probability of each metric of a case.

    All cases get equal shares. Half of a case's share goes to the metrics that count, and the other half to the metrics
    that are only shown.
    """
    counting = [name for name in names if judging.decides_comparison(name)]
    return {
        name: FALSE_ALARM_PROBABILITY / cases / 2 / (len(counting) if name in counting else len(names) - len(counting))
        for name in names
    }
