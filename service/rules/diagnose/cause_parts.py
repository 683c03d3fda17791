"""Describes one cause of a difference: in words, with the line that leads to it and its price."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import NamedTuple

from runner.contract.diagnosis import (
    DifferencePart,
    FaultCause,
)
from runner.contract.number_text import format_amount
from runner.contract.profile import (
    Memory,
    Touch,
)
from runner.contract.profile_difference import (
    FunctionKey,
    FunctionLine,
    WeightChange,
    identify_function,
)
from service.rules.diagnose.calling_lines import (
    ChangedLines,
    find_allocator_caller,
    find_own_caller,
    is_changed,
    may_be_changed,
)
from service.rules.diagnose.cause_sums import (
    Group,
    Side,
    pair_lines,
)
from service.rules.diagnose.huge_page_changes import compare_huge_pages
from service.rules.diagnose.place_text import format_place
from service.rules.diagnose.profile_facts import Facts

_MAX_MOVED_PAGES = 4
"""At most one page more of each segment of a program (code, constants, initialised and other data) is touched because
its content has moved."""
_MAX_MOVED_BLOCK_PAGES = 8
"""At most so many pages more are touched because blocks of memory begin elsewhere on their pages."""
_MAX_MOVED_CODE_PAGES = 2
"""A changed line may touch at most so many pages of code more or fewer only because the code was moved."""
_LAID_OUT = "is laid out differently"
_MIN_EXCHANGED_SHARE, _MIN_EXCHANGED_FAULTS = 0.5, 5
"""If other unchanged lines lost at least this share of what an unchanged line gained, and this many faults, it does not
lead."""
_MIN_PLACE_SHARE = 0.1
"""A line leads a cause only if it has at least this share of it."""
_MIN_SECOND_SHARE, _MIN_SECOND_FAULTS = 0.1, 16
"""A second line is named if it has at least this share of a cause, and this many faults."""
_MIN_REQUESTED_FAULTS = 16
"""The line that requests memory is named only for at least this many faults: any line may have requested a few more
pages of the heap."""
_DYNAMIC_LINKER = re.compile(r"ld[-.\w]*\.so[\d.]*$")
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


class _PartText(NamedTuple):
    """One cause in words.

    Attributes
    ----------
    place
        The line that leads to the cause; None if none does, or if it would mislead.
    sentence
        What the program does more or less than before, without its subject.
    is_moved
        Whether the cause only shows that code, data or blocks of memory begin elsewhere.
    """

    place: FunctionLine | None
    sentence: str
    is_moved: bool = False


def limit_to_net(growth: int, net_growth: int) -> int:
    """Return the part of a growth, or of a decline, within a function that the net growth of the function contains."""
    return max(0, min(growth, net_growth)) if growth > 0 else min(0, max(growth, net_growth))


def build_part(
    group: Group,
    sides: list[Side],
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
    changes = pair_lines(group, sides)
    leading_line = _find_leading_line(changes, net_growth_of_function, after - before)
    place, sentence, is_moved = _describe_part(group, leading_line, changes, sides, facts, changed_lines=changed_lines)
    second_line = _find_second_line(place, _limit_changes_to_net(changes, net_growth_of_function), after - before)
    caller = None
    if place and leading_line and facts.before:
        caller = find_allocator_caller(place, (facts.before.profile, facts.profile), leading_line[1].growth)
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
        place_faults=_sum_line(place, changes) if place else 0,
        second_place=format_place(_keep_line(second_line[0], changed_lines)) if second_line else "",
        second_faults=second_line[1] if second_line else 0,
        caller=format_place(caller) if caller else "",
        sentence=sentence,
        is_moved=is_moved,
        seconds=_compute_seconds(after - before, facts),
    )


def _describe_part(
    group: Group,
    leading_line: tuple[FunctionLine, WeightChange] | None,
    changes: Sequence[tuple[FunctionLine, WeightChange]],
    sides: list[Side],
    facts: Facts,
    *,
    changed_lines: ChangedLines,
) -> _PartText:
    """Return one cause of the difference in words, with the line that leads to it."""
    cause, file = group
    growth = sides[1].sums[group] - sides[0].sums[group]
    place, change = leading_line or (None, None)
    if cause is FaultCause.IMAGE:
        return _describe_image_part(place, sides, changed_lines)
    if cause is FaultCause.STACK and abs(growth) == 1:
        # A frame only has to begin elsewhere for one page more.
        kept_place = place if place and may_be_changed(changed_lines, place) else None
        return _PartText(kept_place, _describe_cause(cause, file, growth, facts), is_moved=True)
    if cause is FaultCause.STATIC_DATA and _is_data_moved(place, change, growth, changed_lines):
        sentence = f"{_describe_cause(cause, file, growth, facts)}, because it {_LAID_OUT}"
        return _PartText(None, sentence, is_moved=True)
    return _describe_other_part(group, place, changes, sides, facts, changed_lines=changed_lines)


def _limit_changes_to_net(
    changes: Iterable[tuple[FunctionLine, WeightChange]], net_growth_of_function: Counter[FunctionKey]
) -> list[tuple[FunctionLine, int]]:
    """Return lines with their growth, without what moved within their functions."""
    return [
        (place, limit_to_net(change.growth, net_growth_of_function[place.function_key])) for place, change in changes
    ]


def _find_second_line(
    place: FunctionLine | None, growths: Iterable[tuple[FunctionLine, int]], growth: int
) -> tuple[FunctionLine, int] | None:
    """Return the line of another function that has the next largest part in a cause, with its growth; None if small."""
    if place is None:
        return None
    others = [
        (other, own_growth)
        for other, own_growth in growths
        if other.function_key != place.function_key
        and own_growth * growth > 0
        and abs(own_growth) >= max(_MIN_SECOND_FAULTS, _MIN_SECOND_SHARE * abs(growth))
    ]
    return max(others, key=lambda row: (abs(row[1]), row[0]), default=None)


def _describe_image_part(place: FunctionLine | None, sides: list[Side], changed_lines: ChangedLines) -> _PartText:
    """Return the leading line of the faults on pages of the program, unless it would mislead, and their sentence."""
    if place and _DYNAMIC_LINKER.match(place.function_key.module):
        # The dynamic linker touches pages of every loaded file, on behalf of no line of the program.
        place = None
    sentence = _describe_image_change(*(side.image_files for side in sides))
    if place and changed_lines and _is_layout_change(place, sides, changed_lines):
        return _PartText(None, f"{sentence}, whose code or data {_LAID_OUT}", is_moved=True)
    return _PartText(place, sentence)


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
        and not may_be_changed(changed_lines, place)
    )


def _describe_other_part(
    group: Group,
    place: FunctionLine | None,
    changes: Sequence[tuple[FunctionLine, WeightChange]],
    sides: list[Side],
    facts: Facts,
    *,
    changed_lines: ChangedLines,
) -> _PartText:
    """Return the leading line of a cause, unless it only took faults over or has a small part, and its sentence."""
    cause, file = group
    growth = sides[1].sums[group] - sides[0].sums[group]
    if place and abs(_sum_line(place, changes)) < _MIN_PLACE_SHARE * abs(growth):
        place = None  # It would be chosen at random among many.
    is_exchange = (
        place is not None
        and bool(changed_lines)
        and cause is not FaultCause.FILE_PAGES
        and _is_exchange(place, changes, changed_lines)
    )
    sentence = _describe_cause(cause, file, growth, facts)
    if is_exchange:
        is_moved = abs(growth) <= _MAX_MOVED_BLOCK_PAGES
        return _PartText(None, f"{sentence}, and the rest at different lines than before", is_moved)
    if place and cause is FaultCause.AFTER_READ and _is_first_touch_exchanged(place, sides, changed_lines):
        return _PartText(place, f"{sentence}, because {_describe_exchanged_touches(growth)}", is_moved=True)
    return _PartText(place, sentence)


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
    # Of less memory, the line that requests it is the one that requested more in the earlier program.
    side = facts if growth > 0 else facts.before and replace(facts.before, before=facts)
    if side is None:
        return ""
    frame = side.find_requesting_place(find_own_caller, without_heap=True, least_faults=abs(growth) / 2)
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
        return abs(limit_to_net(change.growth, net_growth_of_function[place.function_key])), abs(change.growth), place

    return max((row for row in changes if row[1].growth * growth > 0), key=rank, default=None)


def _describe_cause(cause: FaultCause, file: str, growth: int, facts: Facts) -> str:
    """Return in words what the program does more or less than before."""
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
    calls = list_returning_calls(cause, file, abs(growth), side) if side else ()
    line = side.find_returning_line(*calls) if side and calls else ""
    unmapped = _GIVEN_BACK[calls[0]] if cause is FaultCause.FILE_PAGES and calls else ""
    return sentences[cause] + unmapped + (f" (from {line})" if line else "")


def list_returning_calls(cause: FaultCause, file: str, n_faults: int, facts: Facts) -> tuple[str, ...]:
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
    growths = {line: change.growth for line, change in changes if not may_be_changed(changed_lines, line)}
    growth = growths.get(place, 0)
    n_exchanged = sum(abs(other_growth) for other_growth in growths.values() if other_growth * growth < 0)
    return n_exchanged >= max(_MIN_EXCHANGED_FAULTS, _MIN_EXCHANGED_SHARE * abs(growth))


def _is_first_touch_exchanged(place: FunctionLine, sides: list[Side], changed_lines: ChangedLines) -> bool:
    """Return whether an unchanged line's first touches of new memory came from, or went to, other unchanged lines."""
    changes = pair_lines((FaultCause.NEW_MEMORY, ""), sides)
    new_place = next((line for line, _ in changes if line.function_key == place.function_key), None)
    return bool(changed_lines) and new_place is not None and _is_exchange(new_place, changes, changed_lines)


def _describe_exchanged_touches(growth: int) -> str:
    """Return why a line that reads before it writes has more, or fewer, second faults on about as many pages."""
    if growth > 0:
        return "it is now the first to touch pages that other lines used to touch first"
    return "other lines are now the first to touch these pages"


def _is_layout_change(place: FunctionLine, sides: list[Side], changed_lines: ChangedLines) -> bool:
    """Return whether a line touches more or fewer pages of its own program only because of the program's layout.

    Which line is the first to reach a page of the code is a matter of where the linker has put its function. Data may
    be moved as well, but only more pages than the program has segments show that there is more of it.
    """
    module, file, line = place.function_key.module, place.function_key.file, place.line_after

    def count_growth(pages: Callable[[Side], Counter[str]]) -> int:
        """Return by how much the pages of the place's own module grew."""
        before, after = (
            sum(n_pages for name, n_pages in pages(side).items() if name.rpartition("/")[2] == module) for side in sides
        )
        return after - before

    growth = sides[1].image_files.total() - sides[0].image_files.total()
    own_growth = count_growth(attrgetter("image_files"))
    if line and is_changed(changed_lines, file, line):
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
