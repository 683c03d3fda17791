"""Series that repeat to the fault: every change of the value is a change of level."""

from __future__ import annotations

from collections.abc import Sequence

from service.detect.drift import Drift, Number


def repeats(samples: Sequence[Sequence[Number]]) -> bool:
    """Tell whether the samples of each point agree to the fault, and at least one point was sampled twice."""
    return any(len(point) > 1 for point in samples) and all(len(set(point)) <= 1 for point in samples)


def exact_drifts(values: Sequence[Number], samples: Sequence[Sequence[Number]]) -> list[Drift]:
    """Report each index whose value differs from the one before it; Python numbers, so exact beyond 2**53.

    A point measured only once is reported with ``wants_rerun``: one run alone cannot show that it repeats.
    """
    drifts = []
    for index in range(1, len(values)):
        before, after = values[index - 1], values[index]
        if before != after:
            n = len(samples[index])
            evidence = f"{before} → {after}: samples repeat to the fault on both sides, so any change is a drift"
            drifts.append(Drift(index, before, after, index, index, "exact", evidence, wants_rerun=n < 2))
    return drifts
