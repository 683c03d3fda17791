"""Finds the definition that a change alters and that the lines with the difference use, such as a macro or a type.

A line that uses a macro, a constant, a type or an inlined function does not change with it, but can fault more.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.diagnosis import (
    AlteredDefinition,
    ChangedDefinition,
    ChangedFile,
    ChangedPlace,
    DiagnosisRequest,
    Difference,
    FaultCause,
    Use,
)
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_count
from runner.contract.own_frame import shorten_source_path
from runner.contract.profile import COMPILED_MODULE, Profile
from runner.contract.profile_difference import FunctionKey, FunctionLine, pair_function_lines
from runner.contract.source_files import is_build_file, is_prose_file, is_source_file, is_test_file
from runner.contract.word_list import join_words
from service.rules.diagnose.calling_lines import (
    compare_calling_lines,
    compare_innermost_lines,
    compare_lines_outside_allocators,
)
from service.rules.diagnose.difference_causes import NEAREST_CHANGE, can_be_chance
from service.rules.diagnose.profile_facts import Facts
from service.text.numbers import format_amount

_MIN_SHARE = 0.2
"""A definition is named if the lines that use it have at least this share of the difference."""
_MIN_INNER_SHARE = 0.5
"""Of the uses, the most directly linked one is named that has at least this share of the largest link."""
_SETS_POLICY = frozenset(
    {"mallopt", "mallctl", "je_mallctl", "mi_option_set", "SetMemoryLimit", "SetGCPercent", "SetMemoryReleaseRate"}
)
"""Functions that set when an allocator or a runtime gives memory back to the kernel."""
_GIVEN_BACK = frozenset({FaultCause.AFTER_MADVISE, FaultCause.AFTER_MUNMAP, FaultCause.AFTER_BRK})
_MIN_DIRECT_SHARE = 0.5
"""A changed line that itself has this share of the faults that are linked to a definition explains them."""
_MIN_DIRECT_SHARE = 0.5
"""A changed line that itself has this share of the faults that are linked to a definition explains them."""
_SUFFIX = re.compile(r"(?:\.(?:part|constprop|isra|cold)[.\d]*)+$|(?:\.func\d+(?:\.\d+)*)+$|(?:::\{\{closure\}\})+$")
"""What compilers add to the name of a part of a function."""
_TYPES = re.compile(r"<[^<>]*>|\[[^\[\]]*\]")
_PARAMETERS = re.compile(r"\((?:[^()]|\([^()]*\))*\)(?: const)?$")
_MAX_NAMED_FILES = 4
"""At most so many files or definitions are listed."""


class _Strength(IntEnum):
    """How directly a use is linked to the difference."""

    CALLS = 0
    """The line calls code whose faults changed."""
    POLICY = 1
    """The line sets when an allocator or a runtime gives memory back, and such memory is touched again."""
    FUNCTION = 2
    """The faults of other lines of its function changed."""
    LINE = 3
    """The faults of the line itself changed."""


class _Link(NamedTuple):
    """The link of a use to the difference. The largest is the most direct one.

    Attributes
    ----------
    depth
        The mean number of frames outside of a line that only calls code; otherwise 0.
    growth
        The faults by which the line, its function, or what it calls has more or fewer, in the direction of the
        difference.
    """

    strength: _Strength
    depth: float
    growth: int


def find_altered_definition(
    definitions: Sequence[ChangedDefinition],
    profiles: tuple[Profile, Profile],
    growth: int,
    n_given_back: int,
    *,
    may_be_only: bool,
) -> tuple[AlteredDefinition | None, int]:
    """Return the altered definition whose uses have most of the difference, and how many faults these are.

    A use is linked to the difference if its line has a part in it, itself or in what it calls, or if its function has
    with its own lines or on behalf of which an allocator has. Without a link, a definition is named if the change
    alters nothing else. None if there is no such definition.

    Parameters
    ----------
    growth
        The whole difference in faults.
    n_given_back
        How many of them are on pages that had been given back.
    may_be_only
        Whether the change alters a single range of lines.
    """
    if not definitions or not growth:
        return None, 0
    sign = -1 if growth < 0 else 1
    own = [(place, sign * change.growth) for place, change in compare_innermost_lines(profiles)]
    own += [(place, sign * n_faults) for place, n_faults in _compare_lines_in_runtime(profiles)]
    outside = [(place, sign * change.growth) for place, change in compare_lines_outside_allocators(profiles)]
    calling = [(place, sign * change.growth, depth) for place, change, depth in compare_calling_lines(profiles)]
    is_single = len(definitions) == 1
    links = [
        (link, -index, definition, use)
        for index, definition in enumerate(definitions)
        for use in definition.uses
        for link in (
            *_list_links(use, own, outside, calling, is_own=is_single and _is_own_use(definition, use)),
            *([_Link(_Strength.POLICY, 0, sign * n_given_back)] if _SETS_POLICY.intersection(use.calls) else []),
        )
    ]
    most = max((link.growth for link, *_ in links), default=0)
    least = max(1, _MIN_SHARE * abs(growth), _MIN_INNER_SHARE * most)
    large_links = [row for row in links if row[0].growth >= least]
    is_only = may_be_only and len(definitions) == 1
    if large_links:
        link, _, definition, use = max(large_links, key=lambda row: row[:2])
        return _describe(definition, use, is_only=is_only), link.growth
    definition = definitions[0]
    if not is_only or not (definition.uses or is_source_file(definition.file)):
        return None, 0
    return _describe(definition, definition.uses[0] if definition.uses else None, is_only=True), 0


def _list_links(
    use: Use,
    own: Sequence[tuple[FunctionLine, int]],
    outside: Sequence[tuple[FunctionLine, int]],
    calling: Sequence[tuple[FunctionLine, int, float]],
    *,
    is_own: bool,
) -> Iterator[_Link]:
    """Yield the links of a use to the difference. Each line of an altered function can call what faults.

    That is a link only if nothing else is altered, because outer functions call everything.
    """
    for rows in (own, outside):
        yield _Link(_Strength.LINE, 0, _sum(rows, lambda place: _is_line(place, use)))
        yield _Link(_Strength.FUNCTION, 0, _sum(rows, lambda place: _is_in_function(place, use)))
    for place, growth, depth in calling:
        if _is_line(place, use) or (is_own and _is_in_function(place, use)):
            yield _Link(_Strength.CALLS, depth, growth)


def _sum(rows: Sequence[tuple[FunctionLine, int]], is_meant: Callable[[FunctionLine], bool]) -> int:
    return sum(growth for place, growth in rows if is_meant(place))


def _is_line(place: FunctionLine, use: Use) -> bool:
    return (place.function_key.file, place.line_after) == (use.file, use.line)


def _is_in_function(place: FunctionLine, use: Use) -> bool:
    return place.function_key.file == use.file and _get_own_name(place.function_key.function) == use.function


def _get_own_name(function: str) -> str:
    """Return the name of a function without its class, its package, its types and its parameters."""
    name = _SUFFIX.sub("", function)
    while (shorter := _TYPES.sub("", name)) != name:
        name = shorter
    return re.split(r"\W", _PARAMETERS.sub("", name))[-1]


def _compare_lines_in_runtime(profiles: tuple[Profile, Profile]) -> list[tuple[FunctionLine, int]]:
    """Return by how many faults each line of a Python program, or allocated pages of a Java program, grew."""
    sides = [_sum_lines_in_runtime(profile) for profile in profiles]
    return [(place, change.growth) for place, change in pair_function_lines(*sides)]


def _sum_lines_in_runtime(profile: Profile) -> defaultdict[FunctionKey, Counter[int]]:
    lines: defaultdict[FunctionKey, Counter[int]] = defaultdict(Counter)
    page_size = Facts.from_profile(profile).page_size
    for line in profile.python_lines:
        lines[FunctionKey(line.function, COMPILED_MODULE, line.file)][line.line] += line.faults
    for allocating_line in profile.java_lines:
        key = FunctionKey(allocating_line.function, COMPILED_MODULE, allocating_line.file)
        lines[key][allocating_line.line] += round(allocating_line.bytes / page_size)
    return lines


def _is_own_use(definition: ChangedDefinition, use: Use) -> bool:
    """Return whether a use of a function is the function itself."""
    return (use.function, use.file, use.line) == (definition.name, definition.file, definition.line)


def _describe(definition: ChangedDefinition, use: Use | None, *, is_only: bool) -> AlteredDefinition:
    """Return an altered definition as a part of a diagnosis."""
    place = f"{shorten_source_path(definition.file)}:{definition.line}"
    is_own_line = use is not None and _is_own_use(definition, use)
    text = f"{use.function} at {shorten_source_path(use.file)}:{use.line}" if use else ""
    return AlteredDefinition(
        name=shorten_name(definition.name),
        place=place[:MAX_LINE_CHARACTERS],
        use=text[:MAX_LINE_CHARACTERS],
        is_own_line=is_own_line,
        is_function=any(_is_own_use(definition, own_use) for own_use in definition.uses),
        is_only=is_only,
    )


def relate_to_definitions(difference: Difference, facts: Facts, request: DiagnosisRequest) -> Difference:
    """Return a difference with the altered definition that explains it, or with what else the change alters.

    A line of the other direction is no longer named beside such a definition.
    """
    if facts.before is None or not (difference.parts and (request.changed_files or request.is_cosmetic)):
        return difference
    changed_place = difference.changed_place
    is_contrary = changed_place is not None and changed_place.faults * (difference.after - difference.before) < 0
    definition = _choose_definition(difference, facts, request)
    remarks = tuple(remark for remark in difference.remarks if not remark.startswith(NEAREST_CHANGE))
    if definition is None:
        is_explained = changed_place is not None and not is_contrary
        other_change = _describe_files(request, is_explained=is_explained)
        return difference.model_copy(
            update={"other_change": other_change, **({"remarks": remarks} if other_change else {})}
        )
    places = {"changed_place": None, "opposite_place": None} if is_contrary else {}
    return difference.model_copy(
        update={"altered_definition": definition, "is_indirect": False, "remarks": remarks, **places}
    )


def _choose_definition(difference: Difference, facts: Facts, request: DiagnosisRequest) -> AlteredDefinition | None:
    """Return the altered definition that explains a difference better than a changed line does.

    A difference that can be chance needs no explanation, unless the change alters nothing else.
    """
    assert facts.before is not None
    growth = difference.after - difference.before
    n_ranges = sum(map(len, request.changed_lines.values()))
    definition, faults = find_altered_definition(
        request.changed_definitions,
        (facts.before.profile, facts.profile),
        growth,
        sum(part.faults for part in difference.parts if part.cause in _GIVEN_BACK),
        may_be_only=n_ranges == 1 and len(request.changed_files) == 1,
    )
    if definition is None or (can_be_chance(facts.before, facts) and not definition.is_only):
        return None
    changed_place = difference.changed_place
    is_explained = changed_place is not None and _explains_more(changed_place, definition, faults, growth)
    return None if is_explained else definition


def _explains_more(changed_place: ChangedPlace, definition: AlteredDefinition, faults: int, growth: int) -> bool:
    """Return whether a changed line explains a difference better than an altered definition.

    A line that faults itself needs half as many faults. A line that only calls what faults, or that allocates for
    others, stands on many stacks, so it has to have twice as many.
    """
    if changed_place.manages_memory:
        return True
    if changed_place.faults * growth <= 0:
        return False
    if definition.is_function:
        return True
    is_further = changed_place.is_caller or changed_place.is_allocator
    return abs(changed_place.faults) >= (2 if is_further else _MIN_DIRECT_SHARE) * faults


def _describe_files(request: DiagnosisRequest, *, is_explained: bool) -> str:
    """Return what a change alters besides code, as a sentence, if no code explains the difference; empty otherwise."""
    if request.is_cosmetic:
        return "The change alters nothing but comments, spaces and names, so its code does the same as before."
    files = [file for file in request.changed_files if not is_prose_file(file.file)]
    others = [file for file in files if not is_source_file(file.file)]
    if len(others) < len(files):
        others = [file for file in others if not is_test_file(file.file)]
    if is_explained or not others:
        return "" if is_explained else _list_definitions(request.changed_definitions)
    names = [_describe_file(file) for file in others[:_MAX_NAMED_FILES]]
    if len(others) > len(names):
        names.append(format_count(len(others) - len(names), "other file"))
    what = (
        "The change alters no source code, only"
        if len(others) == len(files)
        else "Besides source code, the change alters"
    )
    return f"{what} {join_words(names)}."[:MAX_LINE_CHARACTERS]


def _list_definitions(definitions: Sequence[ChangedDefinition]) -> str:
    """Return which definitions a change alters, as a sentence; empty if there are none, or too many."""
    if not 0 < len(definitions) <= _MAX_NAMED_FILES:
        return ""
    names = [f"{shorten_name(each.name)} ({shorten_source_path(each.file)}:{each.line})" for each in definitions]
    return f"The change alters {join_words(names)}."[:MAX_LINE_CHARACTERS]


def _describe_file(file: ChangedFile) -> str:
    """Return the name of a file, with what it is for, or with its sizes."""
    name = shorten_source_path(file.file)
    if is_build_file(file.file):
        return f"{name}, which says how the program is built"
    if not file.bytes_before or not file.bytes_after:
        return f"{name} ({'removed' if file.bytes_before else 'new'})"
    if file.bytes_before == file.bytes_after:
        return name
    return f"{name} ({format_amount(file.bytes_before)} → {format_amount(file.bytes_after)})"
