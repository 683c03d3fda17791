"""Finds the altered definition, such as a macro or a type, that is used by the lines whose faults changed.

A line that uses a macro, a constant, a type or an inlined function does not change with it, but can fault more.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.code_change import ChangedCode, ChangedDefinition, ChangedFile, Use
from runner.contract.diagnosis import AlteredDefinition, ChangedPlace, DiagnosisRequest, Difference, FaultCause
from runner.contract.explanation_text import describe_unmoved_lines
from runner.contract.function_names import shorten_name
from runner.contract.number_text import format_amount, format_count
from runner.contract.own_frame import shorten_source_path
from runner.contract.profile import COMPILED_MODULE, Profile
from runner.contract.profile_difference import FunctionKey, FunctionLine, pair_function_lines
from runner.contract.source_files import is_auxiliary_file, is_build_file, is_prose_file, is_source_file
from runner.contract.word_list import join_words
from service.rules.diagnose.calling_lines import (
    compare_calling_lines,
    compare_innermost_lines,
    compare_lines_outside_allocators,
)
from service.rules.diagnose.changed_line_text import find_changed_code
from service.rules.diagnose.executed_functions import (
    get_own_name,
    is_used_in,
    list_executed_functions,
    list_memory_managing_functions,
)
from service.rules.diagnose.execution_spread import can_be_chance
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.scattered_difference import is_scattered

_MIN_SHARE = 0.2
"""A definition is named only if lines that use it are linked to at least this share of the difference."""
_MIN_INNER_SHARE = 0.5
"""The most directly linked use is named among those that are linked to at least this share of the most faults."""
_SETS_POLICY = frozenset(
    {"mallopt", "mallctl", "je_mallctl", "mi_option_set", "SetMemoryLimit", "SetGCPercent", "SetMemoryReleaseRate"}
)
"""Functions that set when an allocator or a runtime gives memory back to the kernel."""
_GIVEN_BACK = frozenset({FaultCause.AFTER_MADVISE, FaultCause.AFTER_MUNMAP, FaultCause.AFTER_BRK})
_MIN_DIRECT_SHARE = 0.5
"""A changed line that itself has this share of the faults that are linked to a definition explains them."""
_MAX_NAMED_FILES = 4
"""At most this many files or definitions are named; others are counted."""
_ONLY_ELSEWHERE = "The program's code and data only lie elsewhere, as after any change: this needs no other cause."
_ONLY_OTHER_LINES = (
    "About the same pages are touched, but other lines reach them first, as after many changes of a program"
)
_MAX_UNMOVED_SHARE = 0.2
"""If other causes have a larger share of a difference, its pages are not only elsewhere."""
_MIN_UNEXPLAINED_FAULTS = 16
"""So large a difference has a cause, even if about the same pages are touched."""
_LAYOUT_CAUSES = frozenset({FaultCause.IMAGE, FaultCause.STATIC_DATA, FaultCause.STACK})
_SCATTERED = "and the difference is spread over many lines, as when memory is only laid out differently"
_MIN_CALLED_FAULTS = 16
"""A line that only calls what faults explains no smaller difference: nearly each line of a program calls something."""
_MAX_COUNTED_DEFINITIONS = 12
"""If there are more definitions, none is named, because it would be chosen at random."""


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
        By how many faults the line, its function, or what it calls changed, in the direction of the difference.
    """

    strength: _Strength
    depth: float
    growth: int


class _LinkedUse(NamedTuple):
    """A use of an altered definition, with one of its links to the difference."""

    link: _Link
    definition: ChangedDefinition
    use: Use


_Key = tuple[str, int | str]
"""A file, and the number of a line in it or the name of a function in it."""


class _Growths(NamedTuple):
    """By how many faults lines and functions of the program changed; positive in the direction of the whole difference.

    Attributes
    ----------
    own
        The faults of the line, or of the lines of the function, themselves.
    outside_allocators
        The same, with those of the allocators that the lines call.
    calling
        For each line of the program, or each of the function: the faults of the line and of all that it calls, and the
        mean number of frames outside of it.
    """

    own: Counter[_Key]
    outside_allocators: Counter[_Key]
    calling: Mapping[_Key, Sequence[tuple[int, float]]]


def find_altered_definition(
    definitions: Sequence[ChangedDefinition],
    profiles: tuple[Profile, Profile],
    growth: int,
    n_given_back: int,
    *,
    may_be_only: bool,
) -> tuple[AlteredDefinition | None, int]:
    """Return the altered definition whose uses are linked to the difference most directly, and by how many faults.

    A use is linked to the difference if the faults of its line changed, those of what the line calls, or those of other
    lines of its function, including the allocators that these lines call. Without a link, a definition is returned only
    if the change alters nothing else. None if there is no such definition.

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
    linked_uses = _list_linked_uses(definitions, _measure_growths(profiles, sign), abs(growth), sign * n_given_back)
    largest_growth = max((linked.link.growth for linked in linked_uses), default=0)
    least_growth = max(1, _MIN_SHARE * abs(growth), _MIN_INNER_SHARE * largest_growth)
    large_uses = [linked for linked in linked_uses if linked.link.growth >= least_growth]
    is_only = may_be_only and len(definitions) == 1
    if large_uses:
        link, definition, use = max(large_uses, key=lambda linked: linked.link)  # of equal ones, the first
        return _build_altered_definition(definition, use, is_only=is_only), link.growth
    definition = definitions[0]
    if not is_only or not (definition.uses or is_source_file(definition.file)):
        return None, 0
    return _build_altered_definition(definition, next(iter(definition.uses), None), is_only=True), 0


def _measure_growths(profiles: tuple[Profile, Profile], sign: int) -> _Growths:
    own = [(place, sign * change.growth) for place, change in compare_innermost_lines(profiles)]
    in_runtime = [(place, sign * n_faults) for place, n_faults in _compare_lines_in_runtime(profiles)]
    outside = [(place, sign * change.growth) for place, change in compare_lines_outside_allocators(profiles)]
    calling: defaultdict[_Key, list[tuple[int, float]]] = defaultdict(list)
    for place, change, depth in compare_calling_lines(profiles):
        for key in _list_keys(place):
            calling[key].append((sign * change.growth, depth))
    return _Growths(_sum_growths([*own, *in_runtime]), _sum_growths(outside), calling)


def _sum_growths(line_growths: Iterable[tuple[FunctionLine, int]]) -> Counter[_Key]:
    growths: Counter[_Key] = Counter()
    for place, growth in line_growths:
        for key in _list_keys(place):
            growths[key] += growth
    return growths


def _list_keys(place: FunctionLine) -> tuple[_Key, _Key]:
    """Return the keys of a line, and of its function, after the change."""
    file, function = place.function_key.file, place.function_key.function
    return (file, place.line_after), (file, get_own_name(function))


def _list_linked_uses(
    definitions: Sequence[ChangedDefinition], growths: _Growths, growth: int, n_given_back: int
) -> list[_LinkedUse]:
    """Return the uses of definitions, each once for each link to the difference.

    A use that sets when memory is given back is linked to the faults on pages that had been given back.

    Parameters
    ----------
    growth
        The whole difference in faults, as a positive number.
    """
    linked_uses = []
    for definition in definitions:
        for use in definition.uses:
            # A function may call what faults, but of several altered functions, the outer ones call everything.
            may_call = len(definitions) == 1 and _is_own_use(definition, use)
            links = [*_list_links(use, growths, any_line_may_call=may_call)]
            if growth < _MIN_CALLED_FAULTS:
                links = [link for link in links if link.strength is not _Strength.CALLS]
            if _SETS_POLICY.intersection(use.calls):
                links.append(_Link(_Strength.POLICY, 0, n_given_back))
            linked_uses += [_LinkedUse(link, definition, use) for link in links]
    return linked_uses


def _list_links(use: Use, growths: _Growths, *, any_line_may_call: bool) -> Iterator[_Link]:
    """Yield the links of a use to the difference.

    Parameters
    ----------
    any_line_may_call
        Whether what other lines of the function call is linked to the use as well.
    """
    line_key, function_key = (use.file, use.line), (use.file, use.function)
    for sums in (growths.own, growths.outside_allocators):
        yield _Link(_Strength.LINE, 0, sums[line_key])
        yield _Link(_Strength.FUNCTION, 0, sums[function_key])
    for key in (line_key, function_key) if any_line_may_call else (line_key,):
        for growth, depth in growths.calling.get(key, ()):
            yield _Link(_Strength.CALLS, depth, growth)


def _compare_lines_in_runtime(profiles: tuple[Profile, Profile]) -> list[tuple[FunctionLine, int]]:
    """Return by how many faults each line of a Python program grew, and by how many allocated pages one of Java."""
    sides = [_sum_lines_in_runtime(profile) for profile in profiles]
    return [(place, change.growth) for place, change in pair_function_lines(*sides)]


def _sum_lines_in_runtime(profile: Profile) -> defaultdict[FunctionKey, Counter[int]]:
    """Return the faults of each line of a Python program, or the pages that each line of a Java program allocates."""
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


def _is_function(definition: ChangedDefinition) -> bool:
    """Return whether a definition is that of a function, whose lines are uses of it as well."""
    return any(_is_own_use(definition, use) for use in definition.uses)


def _build_altered_definition(definition: ChangedDefinition, use: Use | None, *, is_only: bool) -> AlteredDefinition:
    """Return an altered definition as a part of a diagnosis."""
    place = f"{shorten_source_path(definition.file)}:{definition.line}"
    is_own_line = use is not None and _is_own_use(definition, use)
    text = f"{use.function} at {shorten_source_path(use.file)}:{use.line}" if use else ""
    return AlteredDefinition(
        name=shorten_name(definition.name),
        place=place[:MAX_LINE_CHARACTERS],
        source_file=definition.file,
        source_line=definition.line,
        values=_format_values(definition),
        use=text[:MAX_LINE_CHARACTERS],
        is_own_line=is_own_line,
        is_function=_is_function(definition),
        is_only=is_only,
    )


def relate_to_definitions(difference: Difference, facts: Facts, request: DiagnosisRequest) -> Difference:
    """Return a difference with the altered definition that explains it, or with what else the change alters.

    If a definition explains it, a changed line whose faults moved in the other direction is no longer named.
    """
    if facts.before is None or not (difference.parts and (request.changed_files or request.is_cosmetic)):
        return difference
    if _is_only_moved(difference):
        return _blame_nothing(difference)
    changed_place = difference.changed_place
    is_contrary = changed_place is not None and changed_place.faults * difference.faults < 0
    definition = _choose_definition(difference, facts, request)
    if definition is None:
        is_explained = changed_place is not None and not is_contrary
        return difference.model_copy(update=_describe_other_changes(difference, request, is_explained=is_explained))
    places = {"changed_place": None, "opposite_place": None} if is_contrary else {}
    return difference.model_copy(
        update={"altered_definition": definition, "is_indirect": False, "other_change": "", **places}
    )


def _is_only_moved(difference: Difference) -> bool:
    """Return whether the pages of a difference are only elsewhere, or first touched by other lines than before.

    Other causes may have a small share. A page more of static data is usually the border of data that was laid out
    differently, but several can be a new variable.
    """
    n_faults = abs(difference.faults)
    if sum(abs(part.faults) for part in difference.parts if not part.is_moved) > _MAX_UNMOVED_SHARE * n_faults:
        return False
    return difference.parts[0].cause is not FaultCause.STATIC_DATA or n_faults == 1


def _blame_nothing(difference: Difference) -> Difference:
    """Return a difference of pages that are only elsewhere, or touched by other lines, without changed lines."""
    is_layout = all(part.cause in _LAYOUT_CAUSES for part in difference.parts)
    is_small = abs(difference.faults) < _MIN_UNEXPLAINED_FAULTS
    other_lines = f"{_ONLY_OTHER_LINES}{': this needs no other cause' if is_small else '; why is unknown'}."
    return difference.model_copy(
        update={
            "conclusion": difference.conclusion or (_ONLY_ELSEWHERE if is_layout else other_lines),
            **dict.fromkeys(("changed_place", "opposite_place")),
            "other_change": "",
            "is_indirect": False,
        }
    )


def _choose_definition(difference: Difference, facts: Facts, request: DiagnosisRequest) -> AlteredDefinition | None:
    """Return the altered definition that explains a difference better than a changed line does.

    A difference that can be chance needs no explanation, unless the change alters nothing else.
    """
    assert facts.before is not None
    growth = difference.faults
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
    others, is on many stacks, so it needs twice as many.
    """
    if changed_place.manages_memory:
        return True
    if changed_place.faults * growth <= 0:
        return False
    if definition.is_function:
        return True
    is_on_many_stacks = changed_place.is_caller or changed_place.is_allocator
    return abs(changed_place.faults) >= (2 if is_on_many_stacks else _MIN_DIRECT_SHARE) * faults


def _describe_other_changes(
    difference: Difference, request: DiagnosisRequest, *, is_explained: bool
) -> dict[str, str | bool | ChangedCode | None]:
    """Return the fields of a difference on what a change alters besides the code that explains the difference.

    Parameters
    ----------
    is_explained
        Whether a changed line explains the difference.
    """
    if request.is_cosmetic:
        sentence = "The change alters nothing but comments, spaces and names, so its code does the same as before."
        return {"other_change": sentence}
    if is_explained:
        return {}
    files = [file for file in request.changed_files if not is_prose_file(file.file)]
    if sentence := _describe_other_files(files):
        return {"other_change": sentence}
    ranked_definitions = _rank_definitions(_select_executed(request), request)
    if definitions := _describe_definitions(ranked_definitions):
        # What the change alters says more than that it acts indirectly.
        first, *others = ranked_definitions
        is_unclear = difference.is_indirect and bool(others)
        end = f"; {describe_unmoved_lines(difference.faults)}" if is_unclear else ""
        return {
            "other_change": f"The change alters {definitions}{end}."[:MAX_LINE_CHARACTERS],
            "is_indirect": False,
            "changed_code": None if others else find_changed_code(request.changed_code, first.file, first.line),
        }
    sources = [file for file in files if is_source_file(file.file) and not is_auxiliary_file(file.file)]
    if difference.changed_place or difference.is_indirect or difference.other_change or not sources:
        return {}
    names = _join_names([shorten_source_path(file.file) for file in sources], "other file")
    end = f", {_SCATTERED}" if is_scattered(difference, {file.file for file in files}) else ""
    sentence = f"The cause was not found: no changed line of {names} is known to take part{end}."
    return {"other_change": sentence[:MAX_LINE_CHARACTERS]}


def _describe_other_files(files: Sequence[ChangedFile]) -> str:
    """Return a sentence on the files besides source code that a change alters; empty if there are none."""
    others = [file for file in files if not is_source_file(file.file)]
    has_source = len(others) < len(files)
    if has_source:
        # A change of code often comes with one of the build, which says nothing about the difference.
        others = [file for file in others if not (is_auxiliary_file(file.file) or is_build_file(file.file))]
    if not others:
        return ""
    start = "Besides source code, the change alters" if has_source else "The change alters no source code, only"
    return f"{start} {_join_names([*map(_describe_file, others)], 'other file')}."[:MAX_LINE_CHARACTERS]


def _join_names(names: Sequence[str], noun: str) -> str:
    """Return the first of some names, and how many others there are, called by a noun in the singular."""
    n_others = len(names) - _MAX_NAMED_FILES
    others = [format_count(n_others, noun)] if n_others > 0 else []
    return join_words([*names[:_MAX_NAMED_FILES], *others])


def _rank_definitions(
    definitions: Sequence[ChangedDefinition], request: DiagnosisRequest
) -> Sequence[ChangedDefinition]:
    """Return definitions with those first that are used where memory is requested or given back, on either side.

    Of the others, functions come last: their lines would be seen on the stacks, what a macro or a type alters is not.
    Of too many, only the first kind is returned.
    """
    managing = list_memory_managing_functions(request)
    is_managing = [is_used_in(definition, managing) for definition in definitions]
    ranked = sorted(zip(definitions, is_managing, strict=True), key=lambda row: (not row[1], _is_function(row[0])))
    return [row[0] for row in ranked if row[1] or len(definitions) <= _MAX_COUNTED_DEFINITIONS]


def _select_executed(request: DiagnosisRequest) -> Sequence[ChangedDefinition]:
    """Return the altered definitions that code uses which was seen to run; all of the program's if none was seen."""
    executed = list_executed_functions(request)
    definitions = [each for each in request.changed_definitions if not is_auxiliary_file(each.file)]
    return [each for each in definitions if is_used_in(each, executed)] or definitions


def _describe_definitions(definitions: Sequence[ChangedDefinition]) -> str:
    """Return the names of the definitions that a change alters; empty if there are none, or too many."""
    if not 0 < len(definitions) <= _MAX_COUNTED_DEFINITIONS:
        return ""
    return _join_names([_format_definition(each) for each in definitions], "other definition")


def _format_definition(definition: ChangedDefinition) -> str:
    """Return the name of a definition with its place and, if they are known, its values."""
    values = _format_values(definition)
    place = f"{shorten_source_path(definition.file)}:{definition.line}"
    return f"{shorten_name(definition.name)} ({place}{f': {values}' if values else ''})"


def _format_values(definition: ChangedDefinition) -> str:
    if not definition.value_before or not definition.value_after:
        return ""
    return f"{definition.value_before} → {definition.value_after}"


def _describe_file(file: ChangedFile) -> str:
    """Return the name of a file with its purpose or its sizes."""
    name = shorten_source_path(file.file)
    if is_build_file(file.file):
        return f"{name}, which defines how the program is built"
    if not file.bytes_before or not file.bytes_after:
        return f"{name} ({'removed' if file.bytes_before else 'new'})"
    if file.bytes_before == file.bytes_after:
        return name
    return f"{name} ({format_amount(file.bytes_before)} → {format_amount(file.bytes_after)})"
