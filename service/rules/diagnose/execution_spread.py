"""Decides from the counts of several executions of each commit whether a difference can be chance."""

from __future__ import annotations

from runner.contract.number_text import format_count
from service.rules.diagnose.profile_facts import Facts

_MIN_SPREAD, _MAX_CHANCE_FACTOR = 5, 2
"""If two executions of one commit differ by at least this many faults, a difference of twice as many can be chance.
Recording alone adds one or two."""
_MIN_COUNTS = 3
"""If each commit was counted in at least this many executions, the ranges of the counts are compared."""


def describe_spread(before: Facts, after: Facts) -> str:
    """Return a sentence if the difference can be chance; empty otherwise."""
    if not can_be_chance(before, after):
        return ""
    spread = max(max(counts) - min(counts) for counts in (_list_counts(before), _list_counts(after)))
    executions = f"Two executions of the same commit differ by {format_count(spread, 'fault')}"
    return f"{executions}, so this difference can be chance: to decide, measure both with `faultwatch compare`."


def can_be_chance(before: Facts, after: Facts) -> bool:
    """Return whether the difference is like that of two executions of one commit.

    If three executions of each commit were counted, it is not chance if the gap between the counts of both commits is
    larger than the range of the steadier one. Otherwise, it is not chance if it is more than twice the larger range.
    """
    sides = [_list_counts(facts) for facts in (before, after)]
    spreads = [max(counts) - min(counts) for counts in sides]
    if max(spreads) < _MIN_SPREAD or before.faults == after.faults:
        return False
    lower, upper = sorted(sides)
    if min(map(len, sides)) >= _MIN_COUNTS:
        return min(upper) - max(lower) <= min(spreads)
    return abs(after.faults - before.faults) <= _MAX_CHANCE_FACTOR * max(spreads)


def _list_counts(facts: Facts) -> list[int]:
    """Return the faults of the executions that a profile has counted.

    One execution was not recorded. Of the others, one was recorded with each fault, and one with the stack of each
    fault, unless there are too many.
    """
    profile, counts = facts.profile, [facts.faults]
    if profile.scope != "process" or profile.processes != 1:
        return counts
    if (count := profile.find_value("page-faults")) is not None:
        counts.append(round(count))
    stacks = profile.faults
    # With less than half of the faults, the recording is incomplete.
    if stacks is not None and stacks.period == 1 and not stacks.lost and 2 * stacks.samples >= facts.faults:
        counts.append(stacks.samples)
    return counts
