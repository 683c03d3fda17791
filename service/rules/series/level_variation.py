"""Explains why runs of the newest level differ without being a drift."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from runner.contract.level import Number

MIN_LEVEL_RUNS = 12
"""After this many runs of a level, a step is certain two runs later: see docs/explanation/detection.md."""
_MAX_NAMED_VALUES = 3
"""If there are at most this many different values, each is named."""


def describe_level_variation(values: Sequence[Number]) -> str:
    """Return sentences on why different counts of one level are not a drift; empty if no explanation is needed.

    No explanation is needed if all counts are equal, or if the last counts have moved to a new value, which may become
    a drift.

    Parameters
    ----------
    values
        The counts of the newest level's runs, in the order of their commits.
    """
    if not _does_return(values):
        return ""
    n_of_value = Counter(values)
    low, high = min(values), max(values)
    if len(n_of_value) <= _MAX_NAMED_VALUES:
        frequency_of_value = {
            value: "once" if n_of_value[value] == 1 else f"{n_of_value[value]:,} times" for value in sorted(n_of_value)
        }
        counts_clause = " or ".join(f"{value:,} ({frequency})" for value, frequency in frequency_of_value.items())
    else:
        counts_clause = f"{low:,} to {high:,}"
    sentence = (
        f"The counts of the {len(values):,} runs at this level go back and forth: {counts_clause}. They differ by at "
        f"most {high - low:,}; only a lasting step is a drift. Such variation comes from the program, its host or a "
        f"single build; `faultwatch compare` measures two commits interleaved and shows whether they differ."
    )
    if len(values) < MIN_LEVEL_RUNS:
        sentence += f" The level is new: until it has {MIN_LEVEL_RUNS} runs, a step has to last longer to be certain."
    return sentence


def _does_return(values: Sequence[Number]) -> bool:
    """Return whether a value recurs after a different value."""
    new_values = [after for before, after in pairwise(values) if before != after]
    values_in_turn = [*values[:1], *new_values]
    return len(set(values_in_turn)) < len(values_in_turn)
