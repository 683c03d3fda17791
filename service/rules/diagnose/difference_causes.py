"""Decomposes the difference of two profiles into causes that add up to it, each with its leading line.

The causes come from the table of memory, touch and file, which contains every fault; the lines come from the places
with the most faults. A fault in a library belongs to the line of the program that called it. The places do not name
their callers, and the recorded stacks do not name the memory. Therefore the faults that a library function has on only
one side are attributed to the lines that call it more often on this side; its other faults are distributed among its
callers by their shares.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from runner.contract.diagnosis import (
    MAX_CHANGED_FILES,
    MAX_CHANGED_RANGES,
    ChangedPlace,
    Difference,
    DifferencePart,
    FaultCause,
    LineRange,
)
from runner.contract.number_text import format_count
from runner.contract.own_frame import find_own_frame, is_own_frame, shorten_source_path
from runner.contract.profile import (
    COMPILED_MODULE,
    AllocatingLine,
    FaultKind,
    Frame,
    Memory,
    Profile,
    PythonLine,
    Site,
    Touch,
)
from runner.contract.profile_difference import (
    FunctionKey,
    FunctionLine,
    WeightChange,
    compute_resolution,
    identify_function,
    pair_function_lines,
)
from service.rules.diagnose.calling_lines import (
    build_changed_place,
    compare_innermost_lines,
    find_allocator_caller,
    find_changed_place,
    find_changed_requesting_place,
    find_changed_returning_place,
    find_own_caller,
    is_change_indirect,
)
from service.rules.diagnose.huge_page_changes import compare_huge_pages
from service.rules.diagnose.place_text import format_place, is_earlier_place, mark_earlier_place, replace_numbers
from service.rules.diagnose.profile_facts import OWN_MEMORY, Facts, is_image_file
from service.rules.diagnose.work_without_faults import describe_work_without_faults
from service.text.numbers import format_amount

_MAX_CAUSES = 12
"""At most this many causes are listed; if there are more, the last are combined."""
_MILLION = 1_000_000
_MAX_MOVED_PAGES = 4
"""At most one page more of each segment of a program (code, constants, initialised and other data) is touched because
its content has moved."""
_MAX_MOVED_CODE_PAGES = 2
"""A changed line may touch at most so many pages of code more or fewer only because the code was moved."""
_MIN_EXCHANGED_SHARE, _MIN_EXCHANGED_FAULTS = 0.5, 5
"""If other unchanged lines lost at least this share of what an unchanged line gained, and this many faults, it does not
lead."""
_MIN_OPPOSITE_SHARE = 0.2
"""A changed line in the other direction is named if its faults changed by at least this share of the difference, and a
part of this share has a say in whether the change acts indirectly."""
_MIN_SPREAD, _MAX_CHANCE_FACTOR = 5, 2
"""If two executions of one commit differ by at least this many faults, a difference of twice as many can be chance.
Recording alone adds one or two."""
_MIN_COUNTS = 3
"""If each commit was counted in at least this many executions, the ranges of the counts are compared."""
_MIN_OPPOSITE_FAULTS = 16
"""Fewer faults than these in the other direction are not named."""
_MIN_REQUESTED_FAULTS = 16
"""The line that requests memory is named only for at least this many faults: any line may have requested a few more
pages of the heap."""
NEAREST_CHANGE = "Of the changed lines,"
"""The beginning of the remark on the changed line nearest to the one that faults."""
_C_LIBRARY = re.compile(r"/(?:libc|ld)[-.\w]*\.so[\d.]*(?: \(deleted\))?$")
_DYNAMIC_LINKER = re.compile(r"ld[-.\w]*\.so[\d.]*$")
_TOUCHED_BEFORE = {
    Touch.AFTER_MADVISE: FaultCause.AFTER_MADVISE,
    Touch.AFTER_MUNMAP: FaultCause.AFTER_MUNMAP,
    Touch.AFTER_BRK: FaultCause.AFTER_BRK,
    Touch.AFTER_READ: FaultCause.AFTER_READ,
}
_FIRST_TOUCHED = {Memory.STACK: FaultCause.STACK, Memory.STATIC: FaultCause.STATIC_DATA}
_RETURNING_CALLS = {
    FaultCause.AFTER_MADVISE: ("madvise",),
    FaultCause.AFTER_MUNMAP: ("munmap", "mremap"),
    FaultCause.AFTER_BRK: ("brk",),
    FaultCause.AGAIN: ("mprotect", "ftruncate", "fallocate", "msync", "fsync", "fdatasync"),
}
"""The system calls that gave the memory back, or write-protected it."""
_GIVEN_BACK_BY = {Touch.AFTER_MUNMAP: "munmap", Touch.AFTER_MADVISE: "madvise"}
"""The system calls that give back pages of a file."""
_GIVEN_BACK = {"munmap": " that had been unmapped", "madvise": " that madvise had dropped"}
"""What the sentence on pages of a file adds about the system call that gave them back."""
_Group = tuple[FaultCause, str]
"""A cause, and the file that it concerns; empty if it concerns none."""
_LineSums = Mapping[FunctionKey, Mapping[int, int]]
_FaultsInLibraries = Mapping["_LibraryFunction", Counter["_Kind"]]
ChangedLines = Mapping[str, tuple[LineRange, ...]]


class _Kind(NamedTuple):
    """The facts that decide to which cause and to which lines the faults of a place belong.

    Attributes
    ----------
    is_own_memory
        Whether the faults are in the program's own memory, which a runtime touches on behalf of the program's lines.
    is_copy
        Whether the faults are copies after a fork.
    """

    group: _Group
    is_own_memory: bool
    is_copy: bool


class _CallingLine(Struct, frozen=True):
    """A line of the program that calls a library function, with the faults in this function according to its stacks.

    Attributes
    ----------
    shared
        The number of faults that the other profile has as well.
    excess
        The number of faults that only this profile has.
    """

    frame: Frame
    shared: int
    excess: int


_LibraryFunction = tuple[str, str]
"""The name of a library function, and the file name of its module."""
_Callers = Mapping[_LibraryFunction, Sequence[_CallingLine]]


class _Side(Struct, frozen=True):
    """The faults of one profile: by cause, by cause and line, and by file of the program's image."""

    sums: Counter[_Group]
    lines: Mapping[_Group, _LineSums]
    image_files: Counter[str]
    """The faults on pages of the program and its libraries, by file."""
    image_texts: Counter[str]
    """Those of them that are on code, by file."""


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
    sides = _sum_sides(before, after)
    parts = _limit_parts(_rank_parts(sides, after, changed_lines))
    changed_place, is_indirect = _relate_to_change(
        sides, before, after, parts, changed_lines=changed_lines, removed_lines=removed_lines
    )
    changed_place, opposite_place = _find_opposite_places(before, after, changed_place, changed_lines)
    is_unexplained = changed_place is None and not is_indirect
    return Difference(
        before=before.faults,
        after=after.faults,
        parts=parts,
        changed_place=changed_place,
        opposite_place=opposite_place,
        is_indirect=is_indirect,
        remarks=(
            *_describe_spread(before, after),
            *_describe_exchange(before, after, parts),
            *(_describe_nearest_change(parts, after, changed_lines) if is_unexplained else ()),
            *describe_work_without_faults(before, after),
        ),
    )


def _rank_parts(sides: list[_Side], after: Facts, changed_lines: ChangedLines) -> list[DifferencePart]:
    """Return the causes whose faults differ between the sides, the leading one first.

    Faults of a function that only moved from one cause to another, for example because an address is used again,
    explain no difference. So they make neither a cause nor a line leading.
    """
    net_growth_of_function = _sum_net_growth(sides)
    parts = {
        group: _build_part(group, sides, net_growth_of_function, after, changed_lines=changed_lines)
        for group in sides[0].sums.keys() | sides[1].sums.keys()
        if sides[0].sums[group] != sides[1].sums[group]
    }
    moved = {
        group: _count_moved_faults(_pair_lines(group, sides), net_growth_of_function, parts[group].faults)
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
    if max(growths.values(), default=0) < _MIN_OPPOSITE_FAULTS:
        return ()
    gained, lost = (choose(growths, key=lambda place: (growths[place], place)) for choose in (max, min))
    sides = " and ".join(
        f"{format_place(place)} {word} {abs(growths[place]):,}" for place, word in ((gained, "gained"), (lost, "lost"))
    )
    return (f"Faults of the same kinds are now at other lines: {sides}.",)


def _describe_nearest_change(
    parts: Sequence[DifferencePart], after: Facts, changed_lines: ChangedLines
) -> tuple[str, ...]:
    """Return a remark on the changed line nearest to a line of the leading cause; empty if its files did not change.

    It is empty as well if the line has faults only before the change: the changed lines have other numbers.
    """
    if parts and is_earlier_place(parts[0].place):
        return ()
    for file, line in _list_leading_lines(parts[0], after) if parts else ():
        ranges = changed_lines.get(file)
        if line and ranges:
            nearest_lines = (min(max(line, first), last) for first, last in ranges)
            nearest = min(nearest_lines, key=lambda number: abs(number - line))
            name = shorten_source_path(file)
            return (f"{NEAREST_CHANGE} {name}:{nearest} is the nearest to {name}:{line}.",)
    return ()


def _list_leading_lines(part: DifferencePart, after: Facts) -> list[tuple[str, int]]:
    """Return the line that gives back or requests the memory of a cause, if it is known, then the line that faults."""
    places = [(part.source_file, part.source_line)]
    if part.faults > 0:
        calls = _list_returning_calls(part.cause, part.file, part.faults, after)
        if part.cause is FaultCause.NEW_MEMORY:
            frame = after.find_requesting_place(find_own_caller)
        else:
            frame = after.find_returning_place(find_own_caller, *calls) if calls else None
        if frame is not None:
            places.insert(0, (frame.file, frame.line))
    return places


def _describe_spread(before: Facts, after: Facts) -> tuple[str, ...]:
    """Return a remark if the difference can be chance; empty otherwise."""
    if not can_be_chance(before, after):
        return ()
    spread = max(max(counts) - min(counts) for counts in (_list_counts(before), _list_counts(after)))
    executions = f"Two executions of the same commit differ by {format_count(spread, 'fault')}"
    return (f"{executions}, so this difference can be chance: to decide, measure both with `faultwatch compare`.",)


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


def _relate_to_change(
    sides: list[_Side],
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
    changes = [change for group in groups if group[0] not in moved_causes for change in _pair_lines(group, sides)]
    is_changed = partial(_is_changed, changed_lines)
    changed_place = find_changed_place(changes, profiles, is_changed, growth)
    if changed_place is None and leading_part.faults > 0:
        changed_place = _find_memory_managing_place(leading_part, after, is_changed)
    removed_place = _find_removed_place(changes, profiles, removed_lines, growth)
    if removed_place and (changed_place is None or abs(removed_place.faults) > abs(changed_place.faults)):
        changed_place = removed_place
    if changed_place is not None:
        return changed_place, False
    # A changed line in the other direction is no cause, but what the change itself did.
    opposite_place = find_changed_place(changes, profiles, is_changed, -growth)
    if opposite_place and abs(opposite_place.faults) < _MIN_OPPOSITE_SHARE * abs(growth):
        opposite_place = None
    return opposite_place, _is_indirect(before, after, ranked_parts, changed_lines, opposite_place)


def _find_memory_managing_place(
    part: DifferencePart, after: Facts, is_changed: Callable[[str, int], bool]
) -> ChangedPlace | None:
    """Return the changed line that calls what gives back or requests the memory of a cause; None if unknown."""
    returning_calls = _list_returning_calls(part.cause, part.file, part.faults, after)
    if returning_calls:
        return find_changed_returning_place(after, returning_calls, is_changed)
    return find_changed_requesting_place(after, is_changed) if part.cause is FaultCause.NEW_MEMORY else None


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
        and _contains_all_changes(changed_lines)
        and is_change_indirect((before.profile, after.profile), changed_lines, growth)
        and not any(
            _may_change_return_memory(part, after, changed_lines)
            for part in ranked_parts
            if abs(part.faults) >= _MIN_OPPOSITE_SHARE * abs(growth)
        )
        and opposite_place is None
    )


def _find_opposite_places(
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
        if place.line_after and _is_changed(changed_lines, place.function_key.file, place.line_after):
            growths[FunctionLine(place.function_key, 0, place.line_after)] += change.growth
    if not growths or (changed_place and changed_place.manages_memory):
        return changed_place, None
    gained_most, lost_most = (choose(growths, key=lambda place: (growths[place], place)) for choose in (max, min))
    least = max(_MIN_OPPOSITE_FAULTS, _MIN_OPPOSITE_SHARE * abs(growth))
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
    return (changed_place, opposite_place) if changed_place else (opposite_place, None)


def _may_change_return_memory(part: DifferencePart, after: Facts, changed_lines: ChangedLines) -> bool:
    """Return whether the change may have made the program give back by advice, or more often, the memory of a part.

    It is true unless the stacks show that a line in an unchanged file gives the memory back.
    """
    calls = _list_returning_calls(part.cause, part.file, part.faults, after)
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
    place = find_changed_place(opposite_changes, (after, before), partial(_is_changed, removed_lines), -growth)
    if place is None:
        return None
    return place.model_copy(
        update={"place": mark_earlier_place(place.place), "faults": -place.faults, "is_removed": True}
    )


def _pair_lines(group: _Group, sides: list[_Side]) -> list[tuple[FunctionLine, WeightChange]]:
    """Return the lines with faults of one cause, with their changes."""
    return pair_function_lines(*(side.lines.get(group, {}) for side in sides))


def _sum_net_growth(sides: list[_Side]) -> Counter[FunctionKey]:
    """Return by how many faults each function's faults of all causes together grew; negative if they shrank."""
    net_growth_of_function: Counter[FunctionKey] = Counter()
    for side, sign in zip(sides, (-1, 1), strict=True):
        for lines in side.lines.values():
            for function_key, faults_of_line in lines.items():
                net_growth_of_function[function_key] += sign * sum(faults_of_line.values())
    return net_growth_of_function


def _limit_to_net(growth: int, net_growth: int) -> int:
    """Return the part of a growth, or of a decline, within a function that the net growth of the function contains."""
    return max(0, min(growth, net_growth)) if growth > 0 else min(0, max(growth, net_growth))


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
        abs(function_growth - _limit_to_net(function_growth, net_growth_of_function[function_key]))
        for function_key, function_growth in growth_of_function.items()
        if function_growth * growth > 0
    )
    return min(moved, abs(growth))


def _has_faults_by_kind(facts: Facts) -> bool:
    """Return whether a profile contains its faults by kind; a profile without faults does."""
    anatomy = facts.profile.anatomy
    return anatomy is not None and (bool(anatomy.kinds) or anatomy.counted == 0)


def _is_changed(changed_lines: ChangedLines, file: str, line: int) -> bool:
    return any(first_line <= line <= last_line for first_line, last_line in changed_lines.get(file, ()))


def classify_cause(memory: Memory, touch: Touch, *, is_image: bool) -> FaultCause:  # noqa: PLR0911 - one return per cause
    """Return why a page faulted, given its kind of memory and what was there before the touch."""
    if memory is Memory.OTHER:
        return FaultCause.OTHER
    if touch is Touch.AGAIN:
        return FaultCause.AGAIN
    # Data of the image that a forked process writes to is copied, like any other memory.
    if is_image and not (touch is Touch.AFTER_FORK and memory is Memory.FILE_DATA):
        return FaultCause.IMAGE
    if touch is Touch.AFTER_FORK:
        return FaultCause.COPIED
    if memory in {Memory.FILE_TEXT, Memory.FILE_DATA}:
        return FaultCause.FILE_PAGES
    if touch in _TOUCHED_BEFORE:
        return _TOUCHED_BEFORE[touch]
    if touch is not Touch.FIRST:
        return FaultCause.UNKNOWN_TOUCH
    return _FIRST_TOUCHED.get(memory, FaultCause.NEW_MEMORY)


def _find_group(entry: FaultKind | Site, facts: Facts) -> _Group:
    """Return the cause of faults of a kind, and the file if they are on a mapped file."""
    cause = classify_cause(entry.memory, entry.touch, is_image=is_image_file(facts.profile, entry.memory, entry.file))
    # Files whose names differ only in a number, such as a process id, count as one.
    return cause, replace_numbers(entry.file) if cause is FaultCause.FILE_PAGES else ""


def _classify_kind(site: Site, facts: Facts) -> _Kind:
    """Return the facts that decide to which cause and to which lines the faults of a site belong."""
    return _Kind(_find_group(site, facts), site.memory in OWN_MEMORY, _is_copy(site))


def _sum_sides(before: Facts, after: Facts) -> list[_Side]:
    """Return the faults of both profiles by cause, and by cause and the program's own line."""
    sides_of_callers = _find_callers(before.profile, after.profile)
    faults_in_libraries = [
        _sum_faults_in_libraries(facts, callers)
        for facts, callers in zip((before, after), sides_of_callers, strict=True)
    ]
    return [
        _sum_side(facts, callers, faults, other_faults)
        for facts, callers, faults, other_faults in zip(
            (before, after), sides_of_callers, faults_in_libraries, reversed(faults_in_libraries), strict=True
        )
    ]


def _sum_side(
    facts: Facts, callers: _Callers, faults_in_libraries: _FaultsInLibraries, other_faults: _FaultsInLibraries
) -> _Side:
    """Return the faults of a profile by cause, and by cause and the program's own line.

    The faults of each library function, by kind, are compared with those in the other profile.
    """
    sums: Counter[_Group] = Counter()
    image_files: Counter[str] = Counter()
    image_texts: Counter[str] = Counter()
    for kind in facts.anatomy.kinds:
        group = _find_group(kind, facts)
        sums[group] += kind.faults
        cause, _ = group
        if cause is FaultCause.IMAGE:
            image_files[kind.file] += kind.faults
            if kind.memory is Memory.FILE_TEXT:
                image_texts[kind.file] += kind.faults
    lines: dict[_Group, defaultdict[FunctionKey, Counter[int]]] = {}
    shares_of_lines, shares_of_copying_lines = _find_lines_in_runtime(facts)

    def add_faults(kind: _Kind, frame: Frame, faults: int) -> None:
        """Add faults to the line of a frame, or to the lines on whose behalf a runtime touched memory there."""
        shares: Mapping[Frame, int] = {}
        if kind.is_own_memory and not _has_own_line(frame):
            shares = shares_of_copying_lines if kind.is_copy else shares_of_lines
        for line, n_faults in _distribute_by_shares(faults, shares, frame):
            lines.setdefault(kind.group, defaultdict(Counter))[identify_function(line)][line.line] += n_faults

    # Places outside of libraries, or without known callers.
    for site in facts.anatomy.sites:
        if not _has_callers(site.frame, callers):
            add_faults(_classify_kind(site, facts), site.frame, site.faults)
    # Library functions: faults that only this profile has belong to the lines that call more often in it.
    for function, faults_by_kind in faults_in_libraries.items():
        other_faults_by_kind = other_faults.get(function, Counter())
        excess_by_kind = {kind: max(0, faults - other_faults_by_kind[kind]) for kind, faults in faults_by_kind.items()}
        excess_share = _compute_excess_share(callers[function], sum(excess_by_kind.values()))
        for fault_kind, faults in faults_by_kind.items():
            n_excess = round(excess_by_kind[fault_kind] * excess_share)
            for frame, n_faults in _attribute_to_callers(callers[function], faults - n_excess, n_excess):
                add_faults(fault_kind, frame, n_faults)
    return _Side(sums, lines, image_files, image_texts)


def _find_callers(before: Profile, after: Profile) -> list[_Callers]:
    """Return, for each of the two profiles, the program's lines that call each library function with faults.

    The lines of a function in the two profiles are paired in order. A difference within the sampling error is no
    excess.
    """
    weights = [_sum_callers(profile) for profile in (before, after)]
    resolution = max(compute_resolution(profile, "faults") for profile in (before, after))
    sides: list[dict[_LibraryFunction, list[_CallingLine]]] = [{}, {}]
    for function in weights[0].keys() | weights[1].keys():
        frames = [
            {(identify_function(frame), frame.line): frame for frame in side.get(function, ())} for side in weights
        ]
        line_sums = [_sum_caller_lines(side.get(function, Counter())) for side in weights]
        for place, change in pair_function_lines(*line_sums):
            for side, frames_of_line, line, weight, other_weight in (
                (sides[0], frames[0], place.line_before, change.before, change.after),
                (sides[1], frames[1], place.line_after, change.after, change.before),
            ):
                frame = frames_of_line.get((place.function_key, line))
                if frame is not None and weight:
                    excess = weight - other_weight if weight - other_weight > resolution else 0
                    side.setdefault(function, []).append(_CallingLine(frame, weight - excess, excess))
    return list(sides)


def _sum_callers(profile: Profile) -> dict[_LibraryFunction, Counter[Frame]]:
    """Return the weights of the stacks by the library function that faults and the program's frame that led to it."""
    callers: defaultdict[_LibraryFunction, Counter[Frame]] = defaultdict(Counter)
    for stack in profile.faults.stacks if profile.faults else ():
        frames = [profile.frames[index] for index in stack.frames]
        responsible_frame = _find_responsible_frame(frames)
        if responsible_frame is not None:
            callers[_identify_library_function(frames[-1])][responsible_frame] += stack.weight
    return callers


def _sum_caller_lines(weights: Mapping[Frame, int]) -> dict[FunctionKey, Counter[int]]:
    """Return the weights of frames by function and line."""
    lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
    for frame, weight in weights.items():
        lines[identify_function(frame)][frame.line] += weight
    return lines


def _sum_faults_in_libraries(facts: Facts, callers: _Callers) -> _FaultsInLibraries:
    """Return the faults, by kind, of the library functions that have callers in the program."""
    faults: defaultdict[_LibraryFunction, Counter[_Kind]] = defaultdict(Counter)
    for site in facts.anatomy.sites:
        if _has_callers(site.frame, callers):
            faults[_identify_library_function(site.frame)][_classify_kind(site, facts)] += site.faults
    return dict(faults)


def _has_callers(frame: Frame, callers: _Callers) -> bool:
    """Return whether a frame is in a library function whose calling lines in the program are known."""
    return not is_own_frame(frame) and _identify_library_function(frame) in callers


def _compute_excess_share(callers: Sequence[_CallingLine], excess: int) -> float:
    """Return the share of a function's excess faults that the excess of its callers explains, at most 1.

    If faults only move from one cause to another, no caller has an excess, so the share is 0.
    """
    if not excess:
        return 0.0
    return min(1.0, sum(caller.excess for caller in callers) / excess)


def _attribute_to_callers(callers: Sequence[_CallingLine], n_shared: int, n_excess: int) -> Iterable[tuple[Frame, int]]:
    """Yield the calling lines with their faults.

    The excess faults are distributed in proportion to the excess of the callers, and the shared faults in proportion to
    the shared faults of the callers, or also to their excess if none has shared faults.
    """
    excesses = Counter({caller.frame: caller.excess for caller in callers})
    shared_faults = Counter({caller.frame: caller.shared for caller in callers})
    weights_of_shared = shared_faults if shared_faults.total() else excesses
    for n_faults, weights in ((n_excess, excesses), (n_shared, weights_of_shared)):
        yield from _distribute(n_faults, dict(weights.most_common()), max(1, weights.total()))


def _find_lines_in_runtime(facts: Facts) -> tuple[Counter[Frame], Counter[Frame]]:
    """Return the lines on whose behalf a runtime touches the program's own memory, with their shares of the faults.

    These are the lines of a Python program that fault, and the lines of a Java program that allocate. The first shares,
    in parts per million, are of the faults that are not copies, the second of the copies. Touches after a fork count as
    copies, up to the number of copies.
    """
    lines = facts.profile.python_lines
    n_copies = sum(kind.faults for kind in facts.anatomy.kinds if _is_copy(kind))
    n_other_faults = sum(kind.faults for kind in facts.anatomy.kinds if kind.memory in OWN_MEMORY) - n_copies
    copied_share = min(1.0, n_copies / max(1, sum(line.after_fork for line in lines)))
    copies_of_line = {_build_line_frame(line): line.after_fork * copied_share for line in lines}
    others_of_line = {
        _build_line_frame(line): line.faults - min(line.faults, line.after_fork) * copied_share for line in lines
    }
    # A Java profile knows the allocated bytes of a line, not its faults: each page of them counts as one fault.
    others_of_line |= {_build_line_frame(line): line.bytes / facts.page_size for line in facts.profile.java_lines}
    return _convert_to_shares(others_of_line, n_other_faults), _convert_to_shares(copies_of_line, n_copies)


def _is_copy(entry: FaultKind | Site) -> bool:
    return entry.memory in OWN_MEMORY and entry.touch is Touch.AFTER_FORK


def _build_line_frame(line: PythonLine | AllocatingLine) -> Frame:
    return Frame(function=line.function, module=COMPILED_MODULE, file=line.file, line=line.line)


def _convert_to_shares(faults_of_line: Mapping[Frame, float], n_counted: int) -> Counter[Frame]:
    """Return the shares of lines in the counted faults, in parts per million.

    If the lines together have more faults than were counted, their sum is used instead, so that the shares do not add
    up to more than one.
    """
    total = max(1.0, n_counted, sum(faults_of_line.values()))
    return Counter({frame: int(faults * _MILLION / total) for frame, faults in faults_of_line.items() if int(faults)})


def _has_own_line(frame: Frame) -> bool:
    return is_own_frame(frame) and bool(frame.line)


def _distribute_by_shares(
    faults: int, shares: Mapping[Frame, int], remaining_frame: Frame
) -> Iterable[tuple[Frame, int]]:
    """Yield lines with their parts of some faults, given shares in parts per million; the rest goes to one frame."""
    distributed_faults = list(_distribute(faults, shares, _MILLION))
    yield from distributed_faults
    yield remaining_frame, faults - sum(n_faults for _, n_faults in distributed_faults)


def _distribute(faults: int, weights: Mapping[Frame, int], total: int) -> Iterable[tuple[Frame, int]]:
    """Yield frames with their parts of some faults, in proportion to their weights out of ``total``.

    If rounding makes the sum of the parts too large, the last parts are reduced.
    """
    n_remaining = faults
    for frame, weight in weights.items():
        n_faults = min(n_remaining, round(faults * weight / total))
        n_remaining -= n_faults
        yield frame, n_faults


def _find_responsible_frame(frames: Sequence[Frame]) -> Frame | None:
    """Return the innermost frame of the program itself; if there is none, the innermost outside of the C library.

    None if the kernel has all frames.
    """
    # Without an own frame, this is a frame of a library.
    own_or_library_frame = find_own_frame(frames)
    if own_or_library_frame is None or is_own_frame(own_or_library_frame):
        return own_or_library_frame
    frames_outside_c_library = (
        frame
        for frame in reversed(frames)
        if not _C_LIBRARY.search(frame.module) and not frame.module.startswith("[")  # such as [kernel] and [vdso]
    )
    return next(frames_outside_c_library, own_or_library_frame)


def _identify_library_function(frame: Frame) -> _LibraryFunction:
    # In stacks, the kernel has another name than at places.
    is_in_kernel = frame.module.startswith("[kernel")
    return frame.function, "[kernel]" if is_in_kernel else frame.module.rpartition("/")[2]


def _build_part(
    group: _Group,
    sides: list[_Side],
    net_growth_of_function: Counter[FunctionKey],
    facts: Facts,
    *,
    changed_lines: ChangedLines,
) -> DifferencePart:
    """Return one cause of the difference in words, with its CPU time and the line that changed most.

    Parameters
    ----------
    group
        The cause, and the file whose pages are touched.
    sides
        The faults before and after the change.
    net_growth_of_function
        By how many faults each function has grown over all causes.
    facts
        The facts after the change, with those before it.
    """
    cause, file = group
    before, after = (side.sums[group] for side in sides)
    leading_line = _find_leading_line(_pair_lines(group, sides), net_growth_of_function, after - before)
    place, change = leading_line or (None, None)
    if cause is FaultCause.IMAGE:
        place, sentence = _describe_image_part(place, sides, changed_lines)
    elif cause is FaultCause.STATIC_DATA and _is_data_moved(place, change, after - before, changed_lines):
        place = None
        sentence = _describe_cause(cause, file, after - before, facts, is_exchange=False)
        sentence = f"{sentence}, because it is laid out differently"
    else:
        place, sentence = _describe_other_part(group, place, sides, facts, changed_lines)
    caller = None
    if place and change and facts.before:
        caller = find_allocator_caller(place, (facts.before.profile, facts.profile), change.growth)
        if cause is FaultCause.NEW_MEMORY and not caller:
            sentence += _describe_request(place, after - before, facts)
    return DifferencePart(
        cause=cause,
        file=file,
        before=before,
        after=after,
        place=format_place(_keep_line(place, changed_lines)) if place else "",
        source_file=place.function_key.file if place else "",
        source_line=place.line_after or place.line_before if place else 0,
        place_faults=_sum_line(place, _pair_lines(group, sides)) if place else 0,
        caller=format_place(caller) if caller else "",
        sentence=sentence,
        seconds=_compute_seconds(after - before, facts),
    )


def _describe_image_part(
    place: FunctionLine | None, sides: list[_Side], changed_lines: ChangedLines
) -> tuple[FunctionLine | None, str]:
    """Return the leading line of the faults on pages of the program, unless it would mislead, and their sentence."""
    if place and _DYNAMIC_LINKER.match(place.function_key.module):
        # The dynamic linker touches pages of every loaded file, on behalf of no line of the program.
        place = None
    sentence = _describe_image_change(*(side.image_files for side in sides))
    if place and changed_lines and _is_layout_change(place, sides, changed_lines):
        return None, f"{sentence}, whose code or data is laid out differently"
    return place, sentence


def _is_data_moved(
    place: FunctionLine | None, change: WeightChange | None, growth: int, changed_lines: ChangedLines
) -> bool:
    """Return whether static data takes a page more or less only because it is laid out differently."""
    return (
        place is not None
        and change is not None
        and abs(growth) <= _MAX_MOVED_PAGES
        and abs(change.growth) == 1  # A larger array takes a line that fills it several pages.
        and bool(changed_lines)
        and not _may_be_changed(changed_lines, place)
    )


def _describe_other_part(
    group: _Group, place: FunctionLine | None, sides: list[_Side], facts: Facts, changed_lines: ChangedLines
) -> tuple[FunctionLine | None, str]:
    """Return the leading line of a cause, unless it only took faults over from other lines, and its sentence."""
    cause, file = group
    growth = sides[1].sums[group] - sides[0].sums[group]
    is_exchange = (
        place is not None
        and bool(changed_lines)
        and cause is not FaultCause.FILE_PAGES
        and _is_exchange(place, _pair_lines(group, sides), changed_lines)
    )
    sentence = _describe_cause(cause, file, growth, facts, is_exchange=is_exchange)
    if is_exchange or place is None:
        return None, sentence
    if cause is FaultCause.AFTER_READ and _is_first_touch_exchanged(place, sides, changed_lines):
        sentence = f"{sentence}, because {_describe_exchanged_touches(growth)}"
    return place, sentence


def _keep_line(place: FunctionLine, changed_lines: ChangedLines) -> FunctionLine:
    """Return a line that no longer faults with its number after the change, if no earlier line of its file changed."""
    first_changed = min((first for first, _ in changed_lines.get(place.function_key.file, ())), default=None)
    is_unchanged = bool(changed_lines) and (first_changed is None or place.line_before < first_changed)
    return place._replace(line_after=place.line_before) if is_unchanged and not place.line_after else place


def _sum_line(place: FunctionLine, changes: Iterable[tuple[FunctionLine, WeightChange]]) -> int:
    """Return by how much the faults of a line grew, in all functions that a compiler made of it, as of a template."""
    line = place.function_key.file, place.line_before, place.line_after
    return sum(
        change.growth
        for other, change in changes
        if other == place or ((other.function_key.file, other.line_before, other.line_after) == line and line[0])
    )


def _describe_request(place: FunctionLine, growth: int, facts: Facts) -> str:
    """Return in brackets the line that requests the memory that a place touches; empty if it is in the same function.

    If less memory is touched than before, it is the line that requests it in the earlier program.
    """
    if abs(growth) < _MIN_REQUESTED_FAULTS:
        return ""
    side = facts if growth > 0 else facts.before
    frame = side.find_requesting_place(find_own_caller) if side else None
    if frame is None:
        return ""
    requesting_place = FunctionLine(identify_function(frame), 0, frame.line)
    if requesting_place.function_key.function == place.function_key.function:
        return ""
    return f" (requested by {format_place(requesting_place)})"


def _find_leading_line(
    changes: Iterable[tuple[FunctionLine, WeightChange]], net_growth_of_function: Counter[FunctionKey], growth: int
) -> tuple[FunctionLine, WeightChange] | None:
    """Return the line of the program whose faults of a cause changed most in the direction of the cause's change.

    Faults that only moved between causes within a function are left out of the ranking, unless all lines have only such
    faults.

    Parameters
    ----------
    changes
        The lines with faults of the cause, with their changes.
    net_growth_of_function
        By how much the faults of all causes of each function together grew.
    growth
        By how much the faults of the cause grew; negative if they declined.
    """

    def rank(row: tuple[FunctionLine, WeightChange]) -> tuple[int, int, FunctionLine]:
        place, change = row
        return abs(_limit_to_net(change.growth, net_growth_of_function[place.function_key])), abs(change.growth), place

    return max((row for row in changes if row[1].growth * growth > 0), key=rank, default=None)


def _describe_cause(cause: FaultCause, file: str, growth: int, facts: Facts, *, is_exchange: bool) -> str:
    """Return in words what the program does more or less than before.

    Parameters
    ----------
    is_exchange
        Whether other lines than before touch the pages for which the counts are alike.
    """
    # If there are more faults and fewer huge pages, or the reverse, the memory may be the same.
    may_be_huge = cause in {FaultCause.NEW_MEMORY, FaultCause.STATIC_DATA}
    huge_page_sign = compare_huge_pages(facts.before, facts) if may_be_huge and facts.before else 0
    if huge_page_sign * growth < 0:
        return f"touches new memory {'page by page' if growth > 0 else 'by the huge page'}"
    more_or_fewer, more_or_less = ("more", "more") if growth > 0 else ("fewer", "less")
    amount = format_amount(abs(growth) * facts.page_size)
    sentences = {
        FaultCause.NEW_MEMORY: f"touches {amount} {more_or_less} memory for the first time",
        FaultCause.STATIC_DATA: f"touches {amount} {more_or_less} of its static data for the first time",
        FaultCause.STACK: f"touches {amount} {more_or_less} of its stack for the first time",
        FaultCause.AFTER_MADVISE: f"touches {more_or_fewer} pages that madvise had given back",
        FaultCause.AFTER_MUNMAP: f"touches {more_or_fewer} pages that had been unmapped",
        FaultCause.AFTER_BRK: f"touches {more_or_fewer} pages that the shrinking heap had given back",
        FaultCause.COPIED: f"copies {more_or_fewer} pages that it shares with a forked process",
        FaultCause.FILE_PAGES: f"has {more_or_fewer} faults on pages of {file.rpartition('/')[2] or 'mapped files'}",
        FaultCause.AFTER_READ: f"writes to {more_or_fewer} pages that it had only read before",
        FaultCause.AGAIN: f"touches {more_or_fewer} pages that had meanwhile been taken away or write-protected",
        FaultCause.UNKNOWN_TOUCH: f"touches {more_or_fewer} pages of memory",
        FaultCause.OTHER: f"has {more_or_fewer} faults in the kernel's own mappings or at unknown places",
    }
    # The side with more of these faults shows which line gave the memory back.
    side = facts if growth > 0 else facts.before
    calls = _list_returning_calls(cause, file, abs(growth), side) if side else ()
    line = side.find_returning_line(*calls) if side and calls else ""
    unmapped = _GIVEN_BACK[calls[0]] if cause is FaultCause.FILE_PAGES and calls else ""
    sentence = sentences[cause] + unmapped + (f" (from {line})" if line else "")
    return f"{sentence}, and the rest at different lines than before" if is_exchange else sentence


def _list_returning_calls(cause: FaultCause, file: str, n_faults: int, facts: Facts) -> tuple[str, ...]:
    """Return the system calls that gave back the pages of a part of a difference, or write-protected them.

    Pages of a file were given back if at least half of so many faults can be on pages that are known to be.
    """
    if cause is not FaultCause.FILE_PAGES:
        return _RETURNING_CALLS.get(cause, ())
    if facts.profile.returned is None:
        return ()
    faults_by_touch = Counter(
        {
            kind.touch: kind.faults
            for kind in facts.anatomy.kinds
            if kind.memory is Memory.FILE_DATA and kind.file == file and kind.touch in _GIVEN_BACK_BY
        }
    )
    for touch, faults in faults_by_touch.most_common(1):
        if 2 * faults >= n_faults:
            return (_GIVEN_BACK_BY[touch],)
    return ()


def _is_exchange(
    place: FunctionLine, changes: Iterable[tuple[FunctionLine, WeightChange]], changed_lines: ChangedLines
) -> bool:
    """Return whether an unchanged line gained, or lost, at least half of its faults from, or to, other unchanged lines.

    If blocks of memory get other addresses, other lines are the first to touch their pages.
    """
    growths = {line: change.growth for line, change in changes if not _may_be_changed(changed_lines, line)}
    growth = growths.get(place, 0)
    n_exchanged = sum(abs(other_growth) for other_growth in growths.values() if other_growth * growth < 0)
    return n_exchanged >= max(_MIN_EXCHANGED_FAULTS, _MIN_EXCHANGED_SHARE * abs(growth))


def _is_first_touch_exchanged(place: FunctionLine, sides: list[_Side], changed_lines: ChangedLines) -> bool:
    """Return whether an unchanged line's first touches of new memory came from, or went to, other unchanged lines."""
    changes = _pair_lines((FaultCause.NEW_MEMORY, ""), sides)
    new_place = next((line for line, _ in changes if line.function_key == place.function_key), None)
    return bool(changed_lines) and new_place is not None and _is_exchange(new_place, changes, changed_lines)


def _describe_exchanged_touches(growth: int) -> str:
    """Return why a line that reads before it writes has more, or fewer, second faults on about as many pages."""
    if growth > 0:
        return "it is now the first to touch pages that other lines used to touch first"
    return "other lines are now the first to touch these pages"


def _may_be_changed(changed_lines: ChangedLines, line: FunctionLine) -> bool:
    """Return whether a line was changed, or may have been removed: one without faults after the change may be gone."""
    file = line.function_key.file
    return _is_changed(changed_lines, file, line.line_after) if line.line_after else file in changed_lines


def _contains_all_changes(changed_lines: ChangedLines) -> bool:
    """Return whether the changed lines are known and complete: those of large changes are cut off."""
    n_ranges = sum(map(len, changed_lines.values()))
    return 0 < len(changed_lines) < MAX_CHANGED_FILES and n_ranges < MAX_CHANGED_RANGES


def _is_layout_change(place: FunctionLine, sides: list[_Side], changed_lines: ChangedLines) -> bool:
    """Return whether a line touches more or fewer pages of its own program only because of the program's layout.

    Which line is the first to reach a page of the code is a matter of where the linker has put its function. Data may
    be moved as well, but only more pages than the program has segments show that there is more of it.
    """
    module, file, line = place.function_key.module, place.function_key.file, place.line_after

    def count_growth(pages: Callable[[_Side], Counter[str]]) -> int:
        """Return by how much the pages of the place's own module grew."""
        before, after = (
            sum(n_pages for name, n_pages in pages(side).items() if name.rpartition("/")[2] == module) for side in sides
        )
        return after - before

    growth = sides[1].image_files.total() - sides[0].image_files.total()
    own_growth = count_growth(attrgetter("image_files"))
    if line and _is_changed(changed_lines, file, line):
        # A changed line can be the first to reach a moved page of code; data that it reads is not moved.
        text_growth = count_growth(attrgetter("image_texts"))
        return abs(text_growth) <= _MAX_MOVED_CODE_PAGES and 2 * text_growth * growth > growth * growth
    if not line and abs(own_growth) > _MAX_MOVED_PAGES:
        return False  # The line has no more such faults: it may have been removed.
    # Most of the change must be on code of this module, or on few pages of it.
    layout_growth = own_growth if abs(own_growth) <= _MAX_MOVED_PAGES else count_growth(attrgetter("image_texts"))
    return 2 * layout_growth * growth > growth * growth


def _describe_image_change(before: Counter[str], after: Counter[str]) -> str:
    """Return in words in which of its own files the program touches more or fewer pages; names a dominant file."""
    growth = after.total() - before.total()
    more_or_fewer = "more" if growth > 0 else "fewer"
    changes = {file: after[file] - before[file] for file in before.keys() | after.keys()}
    # The file that changed most in the direction of the total.
    file = max(changes, key=lambda file: (changes[file] * growth, file))
    name = file.rpartition("/")[2]
    if not name or 2 * abs(changes[file]) < abs(growth):
        return f"touches {more_or_fewer} pages of the program and its libraries"
    if not before[file]:
        return f"touches pages of {name}, which it did not load before"
    return f"touches {more_or_fewer} pages of {name}" if after[file] else f"no longer loads {name}"


def _compute_seconds(growth: int, facts: Facts) -> float | None:
    """Return the CPU time of additional or missing faults, at the mean time of a fault on the side that has them.

    The other side's time counts if that is unknown; None if both are.
    """
    assert facts.before is not None
    side, other_side = (facts, facts.before) if growth > 0 else (facts.before, facts)
    seconds_per_fault = side.seconds_per_fault or other_side.seconds_per_fault
    return None if seconds_per_fault is None else growth * seconds_per_fault


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
