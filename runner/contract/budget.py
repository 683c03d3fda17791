"""Budgets: by how much a metric may get worse from base to head before the comparison fails."""

import re
import sys
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator

from runner.contract.level import Number

NO_BUDGET = "none"
_PERCENT = re.compile(r"(\d{1,300}(?:\.\d{1,300})?) ?%")
"""Python refuses to convert texts of thousands of digits."""
_MAX_NUMBER = sys.float_info.max
"""Numbers are converted to floats when they are written. A larger integer cannot be."""


def _check_budget(budget: Number | str) -> Number | str:
    """Check that a budget is a number, a percentage, or ``none``."""
    if isinstance(budget, str):
        is_valid = budget == NO_BUDGET or _PERCENT.fullmatch(budget) is not None
    else:
        is_valid = 0 <= budget <= _MAX_NUMBER
    if not is_valid:
        raise ValueError('a budget is a number in the unit of its metric, a percentage as in "2 %", or "none"')
    return budget


Budget = Annotated[int | float | str, AfterValidator(_check_budget)]
"""A number in the metric's unit, ``"2 %"`` of the base, or ``"none"``: the metric never fails."""


def is_over(budget: Number | str, base: Number, change: Number) -> bool:
    """Return whether a change for the worse exceeds a budget; False without a budget.

    Any percentage of a zero base is zero. Fractions are used, because a float cannot represent every large count.

    Parameters
    ----------
    budget
        A budget in one of the forms of :data:`Budget`.
    base
        The level of base, to which a percentage refers.
    """
    if budget == NO_BUDGET:
        return False
    if isinstance(budget, str):
        match = _PERCENT.fullmatch(budget)
        assert match  # the model that contains the budget has checked it
        return abs(Fraction(change)) > Fraction(match[1]) / 100 * abs(Fraction(base))
    return abs(change) > budget
