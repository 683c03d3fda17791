"""Splits a change that commits and configuration made together into the parts of the two.

Two revisions and two environments give four combinations in which a case can be measured. The change lies between the
old revision in the old environment and the new revision in the new environment. As soon as one of the other two
combinations is measured, its level divides the change into two parts.
"""

from __future__ import annotations

from dataclasses import dataclass

from runner.contract.level import halve_number
from service.schemas.history import Number


@dataclass(frozen=True, slots=True)
class CrossLevels:
    """The levels of a case at two revisions in two environments; None for a combination that was not measured."""

    old_in_old: Number | None
    old_in_new: Number | None
    new_in_old: Number | None
    new_in_new: Number | None


@dataclass(frozen=True, slots=True)
class ChangeParts:
    """The parts of a change that commits and configuration made; their sum is the change.

    Attributes
    ----------
    interaction
        By how much more the commits change the level in the new environment than in the old one; None until both
        combinations are measured. If it is not zero, each part depends on which change comes first, and is the mean
        over both orders (the value of L. S. Shapley, "A value for n-person games", 1953).
    """

    commit: Number
    config: Number
    interaction: Number | None


def split_change(levels: CrossLevels) -> ChangeParts | None:
    """Return the two parts; None unless both ends of the change and a cross-measured level are known."""
    start, end = levels.old_in_old, levels.new_in_new
    if start is None or end is None:
        return None
    config_first, commit_first = levels.old_in_new, levels.new_in_old
    if config_first is not None and commit_first is not None:
        # The mean of what the commits change in the new and in the old environment.
        commit = halve_number((end - config_first) + (commit_first - start))
        return ChangeParts(
            commit=commit,
            config=(end - start) - commit,
            interaction=end - config_first - (commit_first - start),
        )
    if config_first is not None:
        return ChangeParts(commit=end - config_first, config=config_first - start, interaction=None)
    if commit_first is not None:
        return ChangeParts(commit=commit_first - start, config=end - commit_first, interaction=None)
    return None
