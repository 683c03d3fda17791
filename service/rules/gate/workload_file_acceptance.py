"""Decides which changes of the workload file somebody has to accept: those that could make the gate less strict.

A pull request is judged by the workload file of the branch into which it is to be merged. Its own changes of this file
take effect after the merge, so they need the same acceptance as exceeding a budget.
"""

from __future__ import annotations

from runner.contract.budget import NO_BUDGET
from runner.contract.gate import JudgeChange

_ADDING_KEYS = {"metrics.events", "metrics.judge"}
"""Keys with lists that may become longer: more is then measured or judged."""
_BUDGET_PREFIX = "metrics.budget."
_COUNT_KEYS = ("workload.samples", "workload.max_samples")


def needs_acceptance(change: JudgeChange) -> bool:
    """Return whether somebody has to accept a change, which is not the case if it only measures more or is stricter."""
    if change.key == "matrix":
        return bool(change.before)  # a new matrix adds cases, but a changed one replaces them
    if change.key in _ADDING_KEYS:
        return not set(change.before) <= set(change.after)
    if change.key.startswith(_BUDGET_PREFIX):
        # A missing budget allows no regression, like a budget of 0.
        return not _does_not_loosen(_get_first_item(change.before, "0"), _get_first_item(change.after, "0"))
    if change.key in _COUNT_KEYS:
        return not _does_not_shrink(_get_first_item(change.before, ""), _get_first_item(change.after, ""))
    return True


def _does_not_loosen(before: str, after: str) -> bool:
    """Return whether a budget allows no more than the former one; False if the two cannot be compared."""
    old_number = _parse_number(before)
    new_number = _parse_number(after)
    if before == NO_BUDGET or new_number == 0:  # nothing is less strict than no budget, or stricter than a budget of 0
        return True
    if before.endswith("%") != after.endswith("%"):
        return False
    return old_number is not None and new_number is not None and new_number <= old_number


def _does_not_shrink(before: str, after: str) -> bool:
    """Return whether a number, such as the number of samples, does not become smaller."""
    return before.isdecimal() and after.isdecimal() and int(after) >= int(before)


def _parse_number(text: str) -> float | None:
    """Return a budget, with or without a percent sign, as a number; None if it is not a number."""
    try:
        return float(text.removesuffix("%"))
    except ValueError:
        return None


def _get_first_item(items: tuple[str, ...], fallback: str) -> str:
    return items[0] if items else fallback
