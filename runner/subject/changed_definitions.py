"""Finds the definitions that a commit altered, and the lines that use them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from runner.contract.code_change import MAX_CALLS_OF_USE, MAX_CHANGED_DEFINITIONS, MAX_USES, ChangedDefinition, Use
from runner.subject.code_names import (
    begins_definition,
    begins_function,
    find_defined_names,
    find_enclosing_name,
    is_function_name,
)
from runner.subject.code_tokens import MAX_CODE_CHARACTERS

_MAX_STEPS = 3
"""A chain of names, each defined with the one before, is followed for at most this many steps."""
_MAX_LINES_OF_SETTINGS = 20
"""If more lines of a file without source code changed, it contains data rather than settings."""
_MAX_CHANGED_LINES = 2000
"""In a change of more lines, no definitions are searched for, because there would be too many."""
_MIN_NAME_CHARACTERS = 3
"""Shorter names are left out: too many lines contain them with another meaning."""
_DEFINE_OPTION = re.compile(r"-D\s*([A-Za-z_]\w*)")
"""A macro that a build file defines."""
_KEY = re.compile(r"\s*[\"']?([A-Za-z_][\w.-]{3,})[\"']?\s*[:=]")
"""The key of a line in a file of settings."""
_CALL = re.compile(r"\b([A-Za-z_]\w{0,199})\s*\(")
_COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)|^\s*\*\s.*")
_Place = tuple[str, int]
"""A file, and the number of a line."""


class Site(NamedTuple):
    """A line that contains a name."""

    file: str
    line: int
    text: str


Sites = Mapping[str, Sequence[Site]]
"""The lines that contain each name."""


class ChangedRange(Struct, frozen=True):
    """Successive lines that a commit added or rewrote, or lines that it only removed.

    Attributes
    ----------
    lines
        All lines of the file, without comments: as they are after the commit or, for removed lines, before it.
    numbers
        The numbers of the changed lines in ``lines``, without comments and empty lines.
    first_line
        The number of the first changed line after the commit; of removed lines, that of the line in their place.
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
    find_sites: Callable[[Sequence[str]], Sites]
    is_source: Callable[[str], bool]


def find_changed_definitions(
    changed_ranges: Sequence[ChangedRange], reader: FileReader
) -> tuple[ChangedDefinition, ...]:
    """Return the definitions that contain changed lines, with their uses; empty if there are too many of them.

    A macro on the command line in a build file is a definition as well, and so is a key in a file of settings, which
    the program reads by its name.
    """
    if sum(len(changed_range.numbers) for changed_range in changed_ranges) > _MAX_CHANGED_LINES:
        return ()
    places, functions = _find_changed_names(changed_ranges, reader)
    if len(places) > MAX_CHANGED_DEFINITIONS:
        return ()
    uses = _find_uses(places, functions, reader)
    return tuple(
        ChangedDefinition(name=name, file=file, line=line, uses=uses[name])
        for name, (file, line) in places.items()
        if uses[name] or reader.is_source(file)
    )


def _find_changed_names(
    changed_ranges: Sequence[ChangedRange], reader: FileReader
) -> tuple[dict[str, _Place], set[str]]:
    """Return the first changed line of each definition, by its name, and the names that are only those of functions.

    A constructor has the name of its type, which then counts. If there are too many names, not all are returned.
    """
    places: dict[str, _Place] = {}
    functions: set[str] = set()
    others: set[str] = set()
    # Removed lines come last, so that a moved definition is found where it is after the change.
    for changed_range in sorted(changed_ranges, key=lambda changed_range: changed_range.is_removed):
        is_source = reader.is_source(changed_range.file)
        if not is_source and len(changed_range.numbers) > _MAX_LINES_OF_SETTINGS:
            continue
        for number in changed_range.numbers:
            line = changed_range.first_line if changed_range.is_removed else number
            for name in _list_defined_names(changed_range.lines, number, is_source=is_source):
                places.setdefault(name, (changed_range.file, line))
                is_function = is_source and is_function_name(changed_range.lines, number, name)
                (functions if is_function else others).add(name)
        if len(places) > MAX_CHANGED_DEFINITIONS:
            break
    return places, functions - others


def _list_defined_names(lines: Sequence[str], number: int, *, is_source: bool) -> list[str]:
    """Return the names whose definitions contain a line, without very short ones."""
    if is_source:
        names = find_defined_names(lines, number)
    else:
        line = lines[number - 1] if number <= len(lines) else ""
        key = _KEY.match(line)
        names = (*_DEFINE_OPTION.findall(line), *((key[1],) if key else ()))
    return [name for name in names if len(name) >= _MIN_NAME_CHARACTERS]


def _find_uses(places: Mapping[str, _Place], functions: set[str], reader: FileReader) -> dict[str, tuple[Use, ...]]:
    """Return the uses of each name."""
    sites = _find_all_sites(places.keys(), reader)
    uses = {}
    for name, place in places.items():
        own_uses = [Use(file=place[0], line=place[1], function=name)] if name in functions else []
        other_uses = _list_uses(name, place, sites, reader, is_function=name in functions)
        uses[name] = (*own_uses, *other_uses)[:MAX_USES]
    return uses


def _find_all_sites(names: Iterable[str], reader: FileReader) -> Sites:
    """Return the lines that contain the names, or names that are defined with them."""
    sites: dict[str, Sequence[Site]] = {}
    wanted = set(names)
    for _ in range(_MAX_STEPS):
        if not wanted or len(sites) > MAX_CHANGED_DEFINITIONS:
            break
        sites |= dict.fromkeys(wanted, ()) | dict(reader.find_sites(sorted(wanted)))
        wanted = {
            dependent
            for name in wanted
            for site in _list_sites(name, sites)
            for dependent in _list_dependents(name, site, reader)
        } - sites.keys()
    return sites


def _list_sites(name: str, sites: Sites) -> Sequence[Site]:
    """Return the lines that contain a name; none if there are too many, because such a name can mean anything."""
    found = sites.get(name, ())
    return found if len(found) <= MAX_USES else ()


def _list_dependents(name: str, site: Site, reader: FileReader) -> tuple[str, ...]:
    """Return the macros, constants and types whose definitions use a name in a line."""
    if not reader.is_source(site.file):
        return ()
    lines = reader.read_lines(site.file)
    names = find_defined_names(lines, site.line)
    return tuple(other for other in names if other != name and not is_function_name(lines, site.line, other))


def _list_uses(name: str, place: _Place, sites: Sites, reader: FileReader, *, is_function: bool) -> Iterable[Use]:
    """Return the lines of code that use a name, or one that is defined with it.

    If several functions have the name, such as methods of several types, it is unknown which of them a line calls. If
    several files define a constant or a type of this name, only lines of the same file are known to use this one.
    """
    if is_function and _count_definitions(name, sites) > 1:
        return ()
    is_ambiguous = not is_function and len(_list_defining_files(name, sites)) > 1
    uses: dict[_Place, Use] = {}
    pending, seen = [name], {name}
    while pending:
        current = pending.pop(0)
        for site in _list_sites(current, sites):
            is_other = is_ambiguous and site.file != place[0]
            is_definition = (site.file, site.line) == place
            if is_other or is_definition or not reader.is_source(site.file):
                continue
            if not _contains_use(site, current, is_call=is_function):
                continue
            # A type that declares a function does not change with it.
            names = () if is_function else _list_dependents(current, site, reader)
            dependents = set(names) & sites.keys() - seen
            pending += sorted(dependents)
            seen |= dependents
            function = find_enclosing_name(reader.read_lines(site.file), site.line)
            if function and function != current and not dependents:
                uses.setdefault((site.file, site.line), _build_use(site, function))
    return uses.values()


def _contains_use(site: Site, name: str, *, is_call: bool) -> bool:
    """Return whether a line contains a name outside of comments, or, if ``is_call``, a call of the name."""
    call = r"\s*(?:<[^;()]*>)?\(" if is_call else ""
    return re.search(rf"\b{re.escape(name)}\b{call}", _remove_comments(site.text)) is not None


def _build_use(site: Site, function: str) -> Use:
    """Return a line in a function as a use, with the functions that it calls."""
    calls = dict.fromkeys(_CALL.findall(_remove_comments(site.text)))
    return Use(file=site.file, line=site.line, function=function, calls=tuple(calls)[:MAX_CALLS_OF_USE])


def _count_definitions(name: str, sites: Sites) -> int:
    """Return how many functions of a name begin in the lines that contain it."""
    return sum(begins_function(_remove_comments(site.text), name) for site in sites.get(name, ()))


def _list_defining_files(name: str, sites: Sites) -> set[str]:
    """Return the files in which constants, types or variables of a name are defined."""
    return {site.file for site in sites.get(name, ()) if begins_definition(_remove_comments(site.text), name)}


def _remove_comments(line: str) -> str:
    return _COMMENT.sub("", line)


def group_sites(sites: Iterable[Site], names: Sequence[str]) -> Sites:
    """Return lines, cut to the length of code, by the names that they contain as words."""
    sites_by_name: defaultdict[str, list[Site]] = defaultdict(list)
    wanted = frozenset(names)
    for site in sites:
        text = site.text[:MAX_CODE_CHARACTERS]
        words = {*re.findall(r"[\w.-]+", text), *re.findall(r"\w+", text)}
        for name in wanted & words:
            sites_by_name[name].append(Site(site.file, site.line, text))
    return sites_by_name
