"""Decomposes the difference of two profiles into causes that add up to it, the leading one first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from types import MappingProxyType

from runner.contract.diagnosis import (
    Difference,
    DifferencePart,
    FaultCause,
)
from runner.contract.profile_difference import (
    FunctionKey,
    FunctionLine,
    WeightChange,
)
from service.rules.diagnose.calling_lines import (
    ChangedLines,
    compare_innermost_lines,
)
from service.rules.diagnose.cause_parts import (
    build_part,
    limit_to_net,
)
from service.rules.diagnose.cause_sums import (
    Side,
    pair_lines,
    sum_sides,
)
from service.rules.diagnose.changed_places import (
    MIN_OPPOSITE_FAULTS,
    describe_nearest_change,
    find_opposite_places,
    relate_to_change,
)
from service.rules.diagnose.execution_spread import (
    describe_spread,
)
from service.rules.diagnose.place_text import format_place
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.work_without_faults import describe_work_without_faults

_MAX_CAUSES = 12
"""At most this many causes are listed; if there are more, the last are combined."""


def decompose_difference(
    after: Facts,
    changed_lines: ChangedLines = MappingProxyType({}),
    removed_lines: ChangedLines = MappingProxyType({}),
) -> Difference | None:
    """Return the causes of the difference from the earlier profile, the leading one first.

    None if there is no earlier profile, or if one of the two does not contain its faults by kind.

    Parameters
    ----------
    changed_lines
        The lines that the commit changed, by file. If the commit moves memory, the line that then faults more often is
        usually not one of these. So the changed line whose faults grew most is named as well.
    removed_lines
        The lines that the commit removed or rewrote, with their numbers before it, by file.
    """
    before = after.before
    if before is None or not (_has_faults_by_kind(before) and _has_faults_by_kind(after)):
        return None
    sides = sum_sides(before, after)
    parts = _limit_parts(_rank_parts(sides, after, changed_lines))
    changed_place, is_indirect = relate_to_change(
        sides, before, after, parts, changed_lines=changed_lines, removed_lines=removed_lines
    )
    changed_place, opposite_place = find_opposite_places(before, after, changed_place, changed_lines)
    is_unexplained = changed_place is None and not is_indirect
    return Difference(
        before=before.faults,
        after=after.faults,
        parts=parts,
        changed_place=changed_place,
        opposite_place=opposite_place,
        is_indirect=is_indirect,
        other_change=describe_nearest_change(parts, after, changed_lines) if is_unexplained else "",
        conclusion=describe_spread(before, after),
        remarks=(*_describe_exchange(before, after, parts), *describe_work_without_faults(before, after)),
    )


def _rank_parts(sides: list[Side], after: Facts, changed_lines: ChangedLines) -> list[DifferencePart]:
    """Return the causes whose faults differ between the sides, the leading one first.

    Faults of a function that only moved from one cause to another, for example because an address is used again,
    explain no difference. So they make neither a cause nor a line leading.
    """
    net_growth_of_function = _sum_net_growth(sides)
    parts = {
        group: build_part(group, sides, net_growth_of_function, after, changed_lines=changed_lines)
        for group in sides[0].sums.keys() | sides[1].sums.keys()
        if sides[0].sums[group] != sides[1].sums[group]
    }
    moved = {
        group: _count_moved_faults(pair_lines(group, sides), net_growth_of_function, parts[group].faults)
        for group in parts
    }
    ranked_groups = sorted(
        parts,
        key=lambda group: (
            moved[group] - abs(parts[group].faults),
            -abs(parts[group].faults),
            -parts[group].faults,
            group,
        ),
    )
    return [parts[group] for group in ranked_groups]


def _describe_exchange(before: Facts, after: Facts, parts: Sequence[DifferencePart]) -> tuple[str, ...]:
    """Return a remark on the lines that gained and lost the most faults, if no cause differs; empty otherwise."""
    if parts:
        return ()
    changes = compare_innermost_lines((before.profile, after.profile))
    growths = {place: change.growth for place, change in changes}
    if max(growths.values(), default=0) < MIN_OPPOSITE_FAULTS:
        return ()
    gained, lost = (choose(growths, key=lambda place: (growths[place], place)) for choose in (max, min))
    sides = " and ".join(
        f"{format_place(place)} {word} {abs(growths[place]):,}" for place, word in ((gained, "gained"), (lost, "lost"))
    )
    return (f"Faults of the same kinds are now at other lines: {sides}.",)


def _sum_net_growth(sides: list[Side]) -> Counter[FunctionKey]:
    """Return by how many faults each function's faults of all causes together grew; negative if they shrank."""
    net_growth_of_function: Counter[FunctionKey] = Counter()
    for side, sign in zip(sides, (-1, 1), strict=True):
        for lines in side.lines.values():
            for function_key, faults_of_line in lines.items():
                net_growth_of_function[function_key] += sign * sum(faults_of_line.values())
    return net_growth_of_function


def _count_moved_faults(
    changes: Iterable[tuple[FunctionLine, WeightChange]], net_growth_of_function: Counter[FunctionKey], growth: int
) -> int:
    """Return how many of the faults by which a cause grew, or shrank, only moved between causes.

    Faults that only moved between lines of a function did not change their cause.
    """
    growth_of_function: Counter[FunctionKey] = Counter()
    for place, change in changes:
        growth_of_function[place.function_key] += change.growth
    moved = sum(
        abs(function_growth - limit_to_net(function_growth, net_growth_of_function[function_key]))
        for function_key, function_growth in growth_of_function.items()
        if function_growth * growth > 0
    )
    return min(moved, abs(growth))


def _has_faults_by_kind(facts: Facts) -> bool:
    """Return whether a profile contains its faults by kind; a profile without faults does."""
    anatomy = facts.profile.anatomy
    return anatomy is not None and (bool(anatomy.kinds) or anatomy.counted == 0)


def _limit_parts(parts: list[DifferencePart]) -> tuple[DifferencePart, ...]:
    """Return the first parts; the others are combined into one, so that the sum stays the same."""
    if len(parts) <= _MAX_CAUSES:
        return tuple(parts)
    other_parts = parts[_MAX_CAUSES - 1 :]
    seconds = [part.seconds for part in other_parts]
    return (
        *parts[: _MAX_CAUSES - 1],
        DifferencePart(
            cause=FaultCause.OTHER,
            before=sum(part.before for part in other_parts),
            after=sum(part.after for part in other_parts),
            sentence="has other differences",
            seconds=None if None in seconds else sum(part for part in seconds if part is not None),
        ),
    )
