"""Defines the result of a detector: one change of level, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Number = int | float
Kind = Literal["count", "rate", "time", "ratio"]
_LONG = 10**40  # integers from this size on are shortened


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One change of a series' level.

    Attributes
    ----------
    index : int
        First index of the new level; ``values[index - 1]`` is the last value of the old one.
    before, after : int or float
        The two levels, in the unit of the series (whole counts stay Python integers).
    low, high : int
        The change lies at one of the indices ``low … high`` (95 %); ``low <= index <= high``.
    rule : str
        Short name of the rule that fired; docs/explanation/detection.md lists them.
    evidence : str
        The reason in one sentence, for people.
    wants_rerun : bool
        True while one more run at ``index`` or later is needed before the change counts as a fact.
    """

    index: int
    before: Number
    after: Number
    low: int
    high: int
    rule: str
    evidence: str
    wants_rerun: bool = False


def format_level(value: Number) -> str:
    """Write a level for people: with thousands separators, integers in full, other numbers to nine digits."""
    if isinstance(value, int):
        return f"{value:,}" if -_LONG < value < _LONG else f"{Decimal(value):.6e}"
    return f"{value:,.1f}" if 1e9 <= abs(value) < 1e15 else f"{value:,.9g}"
