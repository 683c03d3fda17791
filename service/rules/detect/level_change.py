"""Defines the record of a level change, which the rules of detection return and the detector describes."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from runner.contract import number_text

Number = int | float
_MIN_SHORTENED_INTEGER = 10**40  # integers from this size on are written as powers of ten


@dataclass(frozen=True, slots=True)
class LevelChange:
    """One change of a series' level.

    Attributes
    ----------
    index : int
        First index of the new level; ``values[index - 1]`` is the last value of the old one.
    before, after : int or float
        The two levels, in the unit of the series (whole counts stay Python integers). Within the rules for noisy
        series, they are relative to the first value of the series.
    low, high : int
        The change lies at one of the indices ``low … high`` (95 %); ``low <= index <= high``.
    rule : str
        Short name of the rule that fired; docs/explanation/detection.md lists them.
    evidence : str
        The reason in one sentence, for people; empty until the detector writes it.
    wants_rerun : bool
        True while one more run at ``index`` or later is needed before the change counts as a fact.
    """

    index: int
    before: Number
    after: Number
    low: int
    high: int
    rule: str
    evidence: str = ""
    wants_rerun: bool = False


def format_level(value: Number) -> str:
    """Return a level as text: integers in full unless they are huge, other numbers with three significant digits."""
    if _is_huge(value):
        return f"{Decimal(value):.6e}"
    return number_text.format_number(value)


def format_change(before: Number, after: Number) -> str:
    """Return two levels as text, with enough digits to differ unless one is huge: ``53,338 → 4,186``."""
    if _is_huge(before) or _is_huge(after):
        return f"{format_level(before)} → {format_level(after)}"
    return number_text.format_levels(before, after)


def _is_huge(value: Number) -> bool:
    """Return whether a level is an integer that is written as a power of ten."""
    return isinstance(value, int) and abs(value) >= _MIN_SHORTENED_INTEGER
