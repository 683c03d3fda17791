"""Budgets: by how much a metric may get worse from base to head before the comparison is told to be a failure."""

import re
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from runner.contract.level import Number

NONE = "none"
_PERCENT = re.compile(r"(\d+(?:\.\d+)?) ?%")


def _valid(budget: Number | str) -> Number | str:
    fits = _PERCENT.fullmatch(budget) or budget == NONE if isinstance(budget, str) else 0 <= budget < float("inf")
    if not fits:
        raise ValueError('a budget is a number in the unit of its metric, a percentage as in "2 %", or "none"')
    return budget


Budget = Annotated[int | float | str, AfterValidator(_valid)]
"""A number in the metric's unit, ``"2 %"`` of the base, or ``"none"``: whatever it does is no failure."""


def is_over(budget: Number | str, base: Number, change: Number) -> bool:
    """Tell whether a change for the worse is more than a budget allows; of nothing, any percentage is nothing.

    In fractions: a count may be larger than what a float tells from its neighbour.
    """
    if budget == NONE:
        return False
    if isinstance(budget, str):
        found = _PERCENT.fullmatch(budget)
        assert found
        return abs(Fraction(change)) > Fraction(found[1]) / 100 * abs(Fraction(base))
    return abs(change) > budget
