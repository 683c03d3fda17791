"""The one entry: a series of numbers in, its changes of level out."""

from __future__ import annotations

from collections.abc import Sequence

from service.rules.detect.detector import LevelChangeDetector
from service.rules.detect.level_change import Kind, LevelChange, Number


def find_level_changes(
    values: Sequence[Number],
    *,
    samples: Sequence[Sequence[Number]] | None = None,
    kind: Kind = "count",
) -> list[LevelChange]:
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
    series = LevelChangeDetector(kind)
    series.extend(values, samples)
    return series.drifts()
