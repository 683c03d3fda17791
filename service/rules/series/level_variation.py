"""Explains why the runs of the newest level differ although no drift was found among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from runner.contract.level import Number

MIN_LEVEL_RUNS = 12
"""Runs of a level from which a step of it is certain two runs later: see docs/explanation/detection.md."""
_MAX_NAMED_VALUES = 3
"""Values of which each is named."""


def describe_level_variation(values: Sequence[Number]) -> str:
    """Return in sentences why different counts of one level are not a drift; empty if no explanation is needed.

    No explanation is needed if all counts are equal, or if the last ones have moved to a new value, which may become a
    drift.

    Parameters
    ----------
    values
        The counts of the newest level's runs, in the order of their commits.
    """
    if not _does_return(values):
        return ""
    times = Counter(values)
    low, high = min(values), max(values)
    if len(times) <= _MAX_NAMED_VALUES:
        often = {value: "once" if times[value] == 1 else f"{times[value]:,} times" for value in sorted(times)}
        counts = " or ".join(f"{value:,} ({frequency})" for value, frequency in often.items())
    else:
        counts = f"{low:,} to {high:,}"
    sentence = (
        f"The counts of the {len(values):,} runs at this level go back and forth: {counts}. They differ by at most "
        f"{high - low:,}; only a lasting step is a drift. Such variation comes from the program, its host or one "
        f"build; `faultwatch compare` measures two commits interleaved and shows whether they differ."
    )
    if len(values) < MIN_LEVEL_RUNS:
        sentence += f" The level is new: until it has {MIN_LEVEL_RUNS} runs, only a step that lasts longer is certain."
    return sentence


def _does_return(values: Sequence[Number]) -> bool:
    """Return whether a value comes back after another one."""
    changed = [after for before, after in pairwise(values) if before != after]
    visited = [*values[:1], *changed]
    return len(set(visited)) < len(visited)
