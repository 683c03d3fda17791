"""Relates a difference in faults to the lines that a change added, rewrote or removed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from runner.contract.diagnosis import (
    ChangedPlace,
    DifferencePart,
    FaultCause,
)
from runner.contract.own_frame import find_own_frame, shorten_source_path
from runner.contract.profile import (
    Profile,
)
from runner.contract.profile_difference import (
    FunctionLine,
    WeightChange,
)
from service.rules.diagnose.calling_lines import (
    ChangedLines,
    build_changed_place,
    compare_innermost_lines,
    contains_all_changes,
    find_changed_place,
    find_changed_requesting_place,
    find_changed_returning_place,
    find_own_caller,
    is_change_indirect,
    is_changed,
)
from service.rules.diagnose.cause_parts import (
    list_returning_calls,
)
from service.rules.diagnose.cause_sums import (
    Side,
    pair_lines,
)
from service.rules.diagnose.execution_spread import (
    can_be_chance,
)
from service.rules.diagnose.place_text import is_earlier_place, mark_earlier_place
from service.rules.diagnose.profile_facts import Facts

_MIN_OPPOSITE_SHARE = 0.2
"""A changed line in the other direction is named if its faults changed by at least this share of the difference, and a
part of this share has a say in whether the change acts indirectly."""
MIN_OPPOSITE_FAULTS = 16
"""Fewer faults than these in the other direction are not named."""


def describe_nearest_change(parts: Sequence[DifferencePart], after: Facts, changed_lines: ChangedLines) -> str:
    """Return a sentence on the changed line nearest to a line of the leading cause; empty if its files did not change.

    It is empty as well if the line has faults only before the change: the changed lines have other numbers.
    """
    if parts and is_earlier_place(parts[0].place):
        return ""
    for file, line in _list_leading_lines(parts[0], after) if parts else ():
        ranges = changed_lines.get(file)
        if line and ranges:
            nearest_lines = (min(max(line, first), last) for first, last in ranges)
            nearest = min(nearest_lines, key=lambda number: abs(number - line))
            name = shorten_source_path(file)
            return f"Of the changed lines, {name}:{nearest} is the nearest to {name}:{line}."
    return ""


def _list_leading_lines(part: DifferencePart, after: Facts) -> list[tuple[str, int]]:
    """Return the line that gives back or requests the memory of a cause, if it is known, then the line that faults."""
    places = [(part.source_file, part.source_line)]
    if part.faults > 0:
        calls = list_returning_calls(part.cause, part.file, part.faults, after)
        if part.cause is FaultCause.NEW_MEMORY:
            # Memory that other lines than before touch may be the same memory.
            frame = after.find_requesting_place(find_own_caller) if part.place else None
        else:
            frame = after.find_returning_place(find_own_caller, *calls) if calls else None
        if frame is not None:
            places.insert(0, (frame.file, frame.line))
    return places


def relate_to_change(
    sides: list[Side],
    before: Facts,
    after: Facts,
    ranked_parts: Sequence[DifferencePart],
    *,
    changed_lines: ChangedLines,
    removed_lines: ChangedLines,
) -> tuple[ChangedPlace | None, bool]:
    """Return the changed line with the largest part in the difference, and whether the change acts indirectly.

    The line is None if none has a part, or if it would mislead, because something else explains more of the difference.
    """
    growth = after.faults - before.faults
    if not ranked_parts or not changed_lines:
        return None, False
    leading_part = ranked_parts[0]
    # Moved variables explain everything: other changes of single pages come from them.
    is_moved = leading_part.cause is FaultCause.STATIC_DATA and not leading_part.place
    if is_moved and leading_part.faults * growth >= growth * growth > 0:
        return None, False
    profiles = before.profile, after.profile
    groups = sides[0].lines.keys() | sides[1].lines.keys()
    moved_causes = {part.cause for part in ranked_parts if part.cause is FaultCause.IMAGE and not part.place}
    changes = [change for group in groups if group[0] not in moved_causes for change in pair_lines(group, sides)]
    is_named = partial(is_changed, changed_lines)
    changed_place = find_changed_place(changes, profiles, is_named, growth)
    if changed_place is None and leading_part.faults > 0:
        changed_place = _find_memory_managing_place(leading_part, after, is_named)
    removed_place = _find_removed_place(changes, profiles, removed_lines, growth)
    if removed_place and (changed_place is None or abs(removed_place.faults) > abs(changed_place.faults)):
        changed_place = removed_place
    if changed_place is None and leading_part.faults < 0:
        changed_place = _find_removed_managing_place(leading_part, before, after, removed_lines)
    if changed_place is not None:
        return changed_place, False
    # A changed line in the other direction is no cause, but what the change itself did.
    opposite_place = find_changed_place(changes, profiles, is_named, -growth)
    if opposite_place and abs(opposite_place.faults) < _MIN_OPPOSITE_SHARE * abs(growth):
        opposite_place = None
    return opposite_place, _is_indirect(before, after, ranked_parts, changed_lines, opposite_place)


def _find_memory_managing_place(
    part: DifferencePart, after: Facts, is_line_changed: Callable[[str, int], bool]
) -> ChangedPlace | None:
    """Return the changed line that calls what gives back or requests the memory of a cause; None if unknown."""
    returning_calls = list_returning_calls(part.cause, part.file, part.faults, after)
    if returning_calls:
        return find_changed_returning_place(after, returning_calls, is_line_changed)
    if part.cause is not FaultCause.NEW_MEMORY or not part.place:
        return None  # Memory that other lines than before touch may be the same memory.
    return find_changed_requesting_place(after, is_line_changed)


def _find_removed_managing_place(
    part: DifferencePart, before: Facts, after: Facts, removed_lines: ChangedLines
) -> ChangedPlace | None:
    """Return the removed line that called what gave back or requested the memory of a cause; None if unknown.

    What a change removed is what the opposite change would add.
    """
    opposite_part = part.model_copy(update={"before": part.after, "after": part.before})
    opposite_facts = Facts.from_profile(before.profile, after.profile)
    place = _find_memory_managing_place(opposite_part, opposite_facts, partial(is_changed, removed_lines))
    return _mark_removed(place) if place else None


def _mark_removed(place: ChangedPlace) -> ChangedPlace:
    """Return a line with its number before the change as one that the change removed or rewrote."""
    return place.model_copy(
        update={"place": mark_earlier_place(place.place), "faults": -place.faults, "is_removed": True}
    )


def _is_indirect(
    before: Facts,
    after: Facts,
    ranked_parts: Sequence[DifferencePart],
    changed_lines: ChangedLines,
    opposite_place: ChangedPlace | None,
) -> bool:
    """Return whether a change of which no line explains the difference acts indirectly.

    Parameters
    ----------
    opposite_place
        The changed line whose faults moved against the difference, if there are enough of them.
    """
    growth = after.faults - before.faults
    return (
        # Pages of the program itself, and pages that the kernel took away, may be touched more often without a change.
        ranked_parts[0].cause not in {FaultCause.IMAGE, FaultCause.AGAIN, FaultCause.OTHER}
        and not can_be_chance(before, after)
        and contains_all_changes(changed_lines)
        and is_change_indirect((before.profile, after.profile), changed_lines, growth)
        and not any(
            _may_change_return_memory(part, after, changed_lines)
            for part in ranked_parts
            if abs(part.faults) >= _MIN_OPPOSITE_SHARE * abs(growth)
        )
        and opposite_place is None
    )


def find_opposite_places(
    before: Facts, after: Facts, changed_place: ChangedPlace | None, changed_lines: ChangedLines
) -> tuple[ChangedPlace | None, ChangedPlace | None]:
    """Return the changed line to name, and the changed line whose faults changed most in the other direction.

    The second is None if it changed too little. Without a difference, both are named, or none.
    """
    if not changed_lines:
        return changed_place, None
    growth = after.faults - before.faults
    growths: Counter[FunctionLine] = Counter()
    for place, change in compare_innermost_lines((before.profile, after.profile)):
        if place.line_after and is_changed(changed_lines, place.function_key.file, place.line_after):
            growths[FunctionLine(place.function_key, 0, place.line_after)] += change.growth
    if not growths or (changed_place and changed_place.manages_memory):
        return changed_place, None
    gained_most, lost_most = (choose(growths, key=lambda place: (growths[place], place)) for choose in (max, min))
    least = max(MIN_OPPOSITE_FAULTS, _MIN_OPPOSITE_SHARE * abs(growth))
    is_gain = (growth if changed_place is None else changed_place.faults) >= 0
    opposite = lost_most if is_gain else gained_most
    has_opposite = (-growths[opposite] if is_gain else growths[opposite]) >= least
    if not growth:
        if not has_opposite or growths[gained_most] < least:
            return None, None
        changed_place = build_changed_place(gained_most, growths[gained_most], is_caller=False)
    if not has_opposite:
        return changed_place, None
    opposite_place = build_changed_place(opposite, growths[opposite], is_caller=False)
    if changed_place and changed_place.place == opposite_place.place:
        return changed_place, None  # What the line calls has fewer faults, and more of them are its own.
    return (changed_place, opposite_place) if changed_place else (opposite_place, None)


def _may_change_return_memory(part: DifferencePart, after: Facts, changed_lines: ChangedLines) -> bool:
    """Return whether the change may have made the program give back by advice, or more often, the memory of a part.

    It is true unless the stacks show that a line in an unchanged file gives the memory back.
    """
    calls = list_returning_calls(part.cause, part.file, part.faults, after)
    # Code that takes away shared memory or pages of a file is no allocator.
    may_be_caller = part.cause not in {FaultCause.AFTER_MUNMAP, FaultCause.AFTER_BRK} or after.returns_more_often(
        *calls
    )
    if part.faults <= 0 or not may_be_caller or not calls:
        return False
    frame = after.find_returning_place(find_own_frame, *calls)
    return frame is None or frame.file in changed_lines


def _find_removed_place(
    changes: Iterable[tuple[FunctionLine, WeightChange]],
    profiles: tuple[Profile, Profile],
    removed_lines: ChangedLines,
    growth: int,
) -> ChangedPlace | None:
    """Return the removed line to which the missing faults belonged; None if there are not fewer faults than before.

    What a change removed is what the opposite change would add.
    """
    if growth >= 0 or not removed_lines:
        return None
    before, after = profiles
    opposite_changes = [
        (
            FunctionLine(place.function_key, place.line_after, place.line_before),
            WeightChange(change.after, change.before),
        )
        for place, change in changes
    ]
    place = find_changed_place(opposite_changes, (after, before), partial(is_changed, removed_lines), -growth)
    return _mark_removed(place) if place else None
