"""Limits the number of samples of an imported run: of more values, evenly spaced ones are kept."""

from collections.abc import Sequence

MAX_SAMPLES = 201
"""The largest number of samples of one run. More values are represented by evenly spaced quantiles, whose middle one is
the median."""


def limit_samples(values: Sequence[float]) -> tuple[float, ...]:
    """Return at most ``MAX_SAMPLES`` values, spread evenly over their sorted order."""
    if len(values) <= MAX_SAMPLES:
        return tuple(values)
    sorted_values = sorted(values)
    last_index = len(sorted_values) - 1
    return tuple(sorted_values[round(index * last_index / (MAX_SAMPLES - 1))] for index in range(MAX_SAMPLES))
