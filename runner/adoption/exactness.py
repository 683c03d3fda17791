"""Describes how exact the first counts of a program are."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from msgspec import Struct

from runner.contract.level import find_majority
from runner.contract.variation_causes import suggest_remedy


class Exactness(Struct, frozen=True):
    """How a count repeats.

    Attributes
    ----------
    exact
        Whether more than half of the executions, and at least two, agree.
    sentence
        What that means.
    """

    exact: bool
    sentence: str


def judge_exactness(counts: Sequence[float], settings: Mapping[str, str | None] = MappingProxyType({})) -> Exactness:
    """Judge the minor faults of several executions of one program.

    Parameters
    ----------
    settings
        The settings of the run, which say how the program was built.

    Raises
    ------
    ValueError
        If there are none.
    """
    low, high = int(min(counts)), int(max(counts))
    agreed = find_majority(counts)
    if low == high and len(counts) >= 2:
        return Exactness(
            True,
            (f"{low:,} minor faults in each of {len(counts)} executions, so one more fault is already a drift."),
        )
    if agreed and agreed[1] >= 2:
        return Exactness(
            True,
            f"{int(agreed[0]):,} minor faults in {agreed[1]} of {len(counts)} executions, {low:,} to {high:,} "
            f"overall. More executions would show whether the count varies or has outliers: `faultwatch measure "
            f"--samples 10`; `--env` shows what moves the count. {suggest_remedy(settings)}",
        )
    return Exactness(
        False,
        f"{low:,} to {high:,} minor faults in {len(counts)} executions: the count varies without a code change. "
        f"{suggest_remedy(settings)} Try such a setting with `faultwatch measure --env NAME=VALUE`, and keep it in "
        f"`[run.environment]`. Otherwise comparisons need more executions.",
    )
