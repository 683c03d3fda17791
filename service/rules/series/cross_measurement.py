"""Splits a change that commits and configuration made at once into their two parts. Pure.

Two revisions and two environments make four places at which a case can be measured. The change is seen between old in
old and new in new. As soon as one of the other two is measured, the change has two parts: up to there, and from there.
"""

from __future__ import annotations

from dataclasses import dataclass

from service.schemas.history import Number


@dataclass(frozen=True, slots=True)
class CrossLevels:
    """Levels of a case at two revisions in two environments; None where it is not measured."""

    old_in_old: Number | None
    old_in_new: Number | None
    new_in_old: Number | None
    new_in_new: Number | None


@dataclass(frozen=True, slots=True)
class ChangeParts:
    """How much of a change the commits made, and how much the configuration; together they are the change.

    Attributes
    ----------
    interaction
        What the commits make more in the new environment than in the old one; None while one of the two is not
        measured. Where it is not zero, either part depends on which change is made first, and is told as the mean of
        both orders (L. S. Shapley, "A value for n-person games", 1953).
    """

    commit: Number
    config: Number
    interaction: Number | None


def split(cells: CrossLevels) -> ChangeParts | None:
    """Return both parts; None where no crosswise measurement is there, or one end of the change is not."""
    start, end = cells.old_in_old, cells.new_in_new
    if start is None or end is None:
        return None
    moved, went = cells.old_in_new, cells.new_in_old
    if moved is not None and went is not None:
        commit = _half((end - moved) + (went - start))
        return ChangeParts(commit, (end - start) - commit, end - moved - (went - start))
    if moved is not None:
        return ChangeParts(end - moved, moved - start, None)
    if went is not None:
        return ChangeParts(went - start, end - went, None)
    return None


def _half(total: Number) -> Number:
    """Halve a number; a whole one stays exact where it can."""
    return total // 2 if isinstance(total, int) and total % 2 == 0 else total / 2
