"""The one entry: a series of numbers in, its changes of level out."""

from __future__ import annotations

import math
from collections.abc import Sequence

from service.detect.drift import Drift, Kind, Number
from service.detect.exact import exact_drifts, repeats


def find_drifts(
    values: Sequence[Number],
    *,
    samples: Sequence[Sequence[Number]] | None = None,
    kind: Kind = "count",
) -> list[Drift]:
    """Find where a series changes its level.

    Parameters
    ----------
    values : sequence of n numbers
        One number for each point, oldest first.
    samples : sequence of n sequences, optional
        What each point was summarised from; shows whether a count repeats to the fault.
    kind : {"count", "rate", "time", "ratio"}
        What the numbers are. Only counts can be exact.

    Returns
    -------
    list of Drift
        In order of index; empty where nothing changed.

    Raises
    ------
    ValueError
        If a number is NaN or infinite, or ``samples`` has another length than ``values``.
    """
    for index, value in enumerate(values):
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"values[{index}] is {value}: only finite numbers can be judged")
    if samples is not None and len(samples) != len(values):
        raise ValueError(f"samples has {len(samples)} points, values has {len(values)}")
    if kind == "count" and samples is not None and repeats(samples):
        return exact_drifts(values, samples)
    return []
