"""Finds the definitions that a commit altered, and the lines that use them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from runner.contract.diagnosis import MAX_CALLS_OF_USE, MAX_CHANGED_DEFINITIONS, MAX_USES, ChangedDefinition, Use
from runner.subject.code_names import (
    begins_definition,
    begins_function,
    find_defined_names,
    find_function,
    is_function_name,
)
from runner.subject.code_tokens import MAX_CODE_CHARACTERS

_MAX_STEPS = 3
"""A name can be used in the definition of another name, and so on, at most this many times."""
_MAX_LINES_OF_SETTINGS = 20
"""If more lines of a file without source code changed, it contains data rather than settings."""
_MAX_CHANGED_LINES = 2000
"""The definitions of a change with more lines are not looked for: they are too many."""
_MIN_NAME_CHARACTERS = 3
"""Shorter names stand in too many lines that mean something else."""
_DEFINE_OPTION = re.compile(r"-D\s*([A-Za-z_]\w*)")
"""A macro that a build file defines."""
_KEY = re.compile(r"\s*[\"']?([A-Za-z_][\w.-]{3,})[\"']?\s*[:=]")
"""The key of a line in a file of settings."""
_CALL = re.compile(r"\b([A-Za-z_]\w{0,199})\s*\(")
_COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)|^\s*\*\s.*")
_Sites = Mapping[str, Sequence[tuple[str, int, str]]]
"""The lines that contain each name: the file, the number of the line, and its text."""


class ChangedRange(Struct, frozen=True):
    """Successive lines that a commit added or rewrote, or lines that it only removed.

    Attributes
    ----------
    lines
        All lines of the file that contains them, without comments: after the commit, or before it if they were removed.
    numbers
        Their numbers there, without those of comments and empty lines.
    first_line
        The number, after the commit, of the first of them, or of the line in the place of those that were removed.
    """

    file: str
    lines: Sequence[str]
    numbers: Sequence[int]
    first_line: int
    is_removed: bool = False


class FileReader(Struct, frozen=True):
    """Reads a commit.

    Attributes
    ----------
    read_lines
        Returns the lines of a file, without comments; empty if it is too large or has no text.
    find_sites
        Returns the lines that contain each of some names as a word.
    is_source
        Returns whether a file contains source code.
    """

    read_lines: Callable[[str], Sequence[str]]
    find_sites: Callable[[Sequence[str]], _Sites]
    is_source: Callable[[str], bool]


def find_changed_definitions(
    changed_ranges: Sequence[ChangedRange], reader: FileReader
) -> tuple[ChangedDefinition, ...]:
    """Return the definitions that contain changed lines, with their uses; empty if there are too many of them.

    A macro on the command line in a build file is a definition as well, and so is a key in a file of settings, which
    the program reads by its name. A constructor has the name of its type, which then counts.
    """
    places: dict[str, tuple[str, int]] = {}
    functions: set[str] = set()
    if sum(len(changed_range.numbers) for changed_range in changed_ranges) > _MAX_CHANGED_LINES:
        return ()
    others: set[str] = set()
    for changed_range in changed_ranges:
        is_source = reader.is_source(changed_range.file)
        if not is_source and len(changed_range.numbers) > _MAX_LINES_OF_SETTINGS:
            continue
        for number in changed_range.numbers:
            for name in _find_names(changed_range.lines, number, is_source=is_source):
                if len(name) < _MIN_NAME_CHARACTERS:
                    continue
                line = changed_range.first_line if changed_range.is_removed else number
                places.setdefault(name, (changed_range.file, line))
                is_function = is_source and is_function_name(changed_range.lines, number, name)
                (functions if is_function else others).add(name)
        if len(places) > MAX_CHANGED_DEFINITIONS:
            return ()
    return tuple(
        ChangedDefinition(name=name, file=file, line=line, uses=uses)
        for (name, (file, line)), uses in zip(
            places.items(), _find_uses(places, functions - others, reader), strict=True
        )
        if uses or reader.is_source(file)
    )


def _find_names(lines: Sequence[str], number: int, *, is_source: bool) -> tuple[str, ...]:
    if is_source:
        return find_defined_names(lines, number)
    line = lines[number - 1] if number <= len(lines) else ""
    key = _KEY.match(line)
    return (*_DEFINE_OPTION.findall(line), *((key[1],) if key else ()))


def _find_uses(places: Mapping[str, tuple[str, int]], functions: set[str], reader: FileReader) -> list[tuple[Use, ...]]:
    """Return the uses of each name, in the order of the names."""
    sites = _search(places, reader)
    uses = []
    for name, place in places.items():
        own_uses = [Use(file=place[0], line=place[1], function=name)] if name in functions else []
        uses.append((*own_uses, *_list_uses(name, place, sites, reader, is_function=name in functions))[:MAX_USES])
    return uses


def _search(places: Mapping[str, object], reader: FileReader) -> dict[str, Sequence[tuple[str, int, str]]]:
    """Return the lines that contain the names, or names that are defined with them."""
    sites: dict[str, Sequence[tuple[str, int, str]]] = {}
    wanted = set(places)
    for _ in range(_MAX_STEPS):
        if not wanted or len(sites) > MAX_CHANGED_DEFINITIONS:
            break
        sites |= dict.fromkeys(wanted, ()) | dict(reader.find_sites(sorted(wanted)))
        wanted = {
            other
            for name in wanted
            for file, line, _ in _list_sites(name, sites)
            for other in _list_dependents(name, file, line, reader)
        } - sites.keys()
    return sites


def _list_sites(name: str, sites: _Sites) -> Sequence[tuple[str, int, str]]:
    """Return the lines that contain a name; none if they are so many that the name says nothing."""
    found = sites.get(name, ())
    return found if len(found) <= MAX_USES else ()


def _list_dependents(name: str, file: str, line: int, reader: FileReader) -> tuple[str, ...]:
    """Return the macros, constants and types whose definitions use a name in a line."""
    if not reader.is_source(file):
        return ()
    lines = reader.read_lines(file)
    names = find_defined_names(lines, line)
    return tuple(other for other in names if other != name and not is_function_name(lines, line, other))


def _list_uses(
    name: str, place: tuple[str, int], sites: _Sites, reader: FileReader, *, is_function: bool
) -> Iterable[Use]:
    """Return the lines of code that use a name, or one that is defined with it.

    If several functions have the name, such as methods of several types, it is unknown which of them a line calls. If
    several files define a constant or a type of this name, only lines of the same file are known to use this one.
    """
    if is_function and _count_definitions(name, sites) > 1:
        return ()
    is_ambiguous = not is_function and len(_list_defining_files(name, sites)) > 1
    found: dict[tuple[str, int], Use] = {}
    pending, seen = [name], {name}
    while pending:
        current = pending.pop(0)
        for file, line, text in _list_sites(current, sites):
            code = _COMMENT.sub("", text)
            is_other = is_ambiguous and file != place[0]
            if (
                is_other
                or not reader.is_source(file)
                or (file, line) == place
                or not re.search(rf"\b{re.escape(current)}\b", code)
            ):
                continue
            if is_function and current == name and not re.search(rf"\b{re.escape(name)}\b\s*(?:<[^;()]*>)?\(", code):
                continue
            # A type that declares a function does not change with it.
            names = () if is_function else _list_dependents(current, file, line, reader)
            dependents = set(names) & sites.keys() - seen
            pending += sorted(dependents)
            seen |= dependents
            function = find_function(reader.read_lines(file), line)
            if function and function != current and not dependents:
                calls = tuple(dict.fromkeys(_CALL.findall(code)))[:MAX_CALLS_OF_USE]
                found.setdefault((file, line), Use(file=file, line=line, function=function, calls=calls))
    return found.values()


def _count_definitions(name: str, sites: _Sites) -> int:
    """Return how many functions of a name begin in the lines that contain it."""
    return sum(begins_function(_COMMENT.sub("", text), name) for _, _, text in sites.get(name, ()))


def _list_defining_files(name: str, sites: _Sites) -> set[str]:
    """Return the files in which constants, types or variables of a name are defined."""
    return {file for file, _, text in sites.get(name, ()) if begins_definition(_COMMENT.sub("", text), name)}


def group_sites(text: str, names: Sequence[str], pattern: re.Pattern[str]) -> _Sites:
    """Return the lines that ``git grep`` found, by the names that they contain.

    Parameters
    ----------
    pattern
        Matches a line of the output; its groups are the file, the number and the text.
    """
    sites: defaultdict[str, list[tuple[str, int, str]]] = defaultdict(list)
    wanted = frozenset(names)
    for match in filter(None, map(pattern.fullmatch, text.split("\n"))):
        text_of_line = match[3][:MAX_CODE_CHARACTERS]
        words = {*re.findall(r"[\w.-]+", text_of_line), *re.findall(r"\w+", text_of_line)}
        for name in wanted & words:
            sites[name].append((match[1], int(match[2]), text_of_line))
    return sites
