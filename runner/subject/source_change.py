"""Reads what a commit changed in the sources: lines, and the calls in them, compared with an earlier commit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.diagnosis import (
    MAX_CALL_SITES,
    MAX_CHANGED_CALLS,
    MAX_CHANGED_FILES,
    MAX_CHANGED_RANGES,
    CallSite,
    ChangedCall,
    LineRange,
)
from runner.errors import FaultwatchError
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_FILE = re.compile(r"\+\+\+ b/([^\t]+)\t?")  # git ends a name that has a space with a tab
_CALL = re.compile(
    r"\b(?!(?:if|for|while|switch|return|sizeof|catch|defined|alignof|typeof)\b)([A-Za-z_]\w{0,199})\s*\("
)
_COMMENT = re.compile(r"//.*|/\*.*?(?:\*/|$)|^\s*[*#].*")
"""What is no code of a line in C and languages like it: a comment, the inside of a long one, or a directive."""
_SITE = re.compile(r"[^:]+:(.+)\0(\d+)\0(.*)")
"""A line that git grep prints: the commit, the file, the number of the line, and the line."""
_MAX_SEARCHED_FUNCTIONS = 50
"""The lines that call the functions around changed calls are searched only if there are at most this many functions."""
_OPTIONS = (
    *("--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    *("--dst-prefix=b/", "--ignore-space-at-eol"),
)
"""Options that set what a user may have configured for a diff: the hunks then contain only changed lines. A line of
which only the end changed, from CR LF to LF, is not a changed one."""


class SourceChange(Struct, frozen=True):
    """What a commit changed in the sources.

    Attributes
    ----------
    lines
        The ranges of changed lines, by file.
    calls
        The calls of functions that exactly one changed line calls.
    """

    lines: dict[str, tuple[LineRange, ...]] = {}
    calls: tuple[ChangedCall, ...] = ()


class _Hunk(Struct, frozen=True):
    """Successive changed lines of a file.

    Attributes
    ----------
    range
        The added lines, or the line after those that were only removed.
    function_line
        The line that git shows as the beginning of the function around them; empty if it knows none.
    """

    file: str
    range: LineRange
    function_line: str
    added_lines: Sequence[str]


def read_source_change(repository: Repository, base: str, head: str) -> SourceChange:
    """Return how the sources of head differ from those of base; empty if git cannot compare them.

    Where lines were only removed, the line that now stands in their place is changed.
    """
    try:
        text = repository.git("diff", *_OPTIONS, base, head, "--", decode_paths=True)
    except GitError:
        return SourceChange()
    change = parse_source_change(text)
    return replace(change, calls=tuple(_add_caller_sites(repository, head, change.calls)))


def _add_caller_sites(repository: Repository, commit: str, calls: Sequence[ChangedCall]) -> Iterator[ChangedCall]:
    """Yield calls with the lines of the commit that call the function around each of them."""
    functions = sorted({call.caller for call in calls})
    sites: defaultdict[str, list[CallSite]] = defaultdict(list)
    if 0 < len(functions) <= _MAX_SEARCHED_FUNCTIONS:
        pattern = rf"\b({'|'.join(functions)})[[:space:]]*\("
        try:
            text = repository.git("grep", "-n", "-z", "-I", "-E", "-e", pattern, commit, "--", decode_paths=True)
        except FaultwatchError:
            text = ""  # No line calls them.
        for match in filter(None, map(_SITE.fullmatch, text.split("\n"))):
            for function in set(_CALL.findall(_COMMENT.sub("", match[3]))):
                sites[function].append(CallSite(file=match[1], line=int(match[2])))
    for call in calls:
        caller_sites = tuple(sites[call.caller])
        yield call.model_copy(update={"caller_sites": caller_sites}) if len(caller_sites) <= MAX_CALL_SITES else call


def parse_source_change(text: str) -> SourceChange:
    """Return the changed lines and calls in a diff without context, up to the number that a request may contain.

    The lines of a hunk are skipped by their number, so that a line of a source file is never taken for a heading.
    """
    hunks = list(_iterate_hunks(text.split("\n")))
    ranges: defaultdict[str, list[LineRange]] = defaultdict(list)
    n_ranges = 0
    for hunk in hunks:
        if n_ranges == MAX_CHANGED_RANGES:
            break
        if hunk.file in ranges or len(ranges) < MAX_CHANGED_FILES:
            ranges[hunk.file].append(hunk.range)
            n_ranges += 1
    return SourceChange(
        {file: tuple(file_ranges) for file, file_ranges in ranges.items()},
        tuple(_list_single_calls(hunks))[:MAX_CHANGED_CALLS],
    )


def _list_single_calls(hunks: Sequence[_Hunk]) -> Iterator[ChangedCall]:
    """Yield the calls of functions that exactly one added line calls, in a function that git names."""
    calls_by_callee: defaultdict[str, list[ChangedCall | None]] = defaultdict(list)
    for hunk in hunks:
        caller = _CALL.search(hunk.function_line)
        for line, text in enumerate(hunk.added_lines, start=hunk.range[0]):
            for callee in set(_CALL.findall(_COMMENT.sub("", text))):
                call = ChangedCall(callee=callee, caller=caller[1], file=hunk.file, line=line) if caller else None
                calls_by_callee[callee].append(call)
    return (calls[0] for calls in calls_by_callee.values() if len(calls) == 1 and calls[0] is not None)


def _iterate_hunks(lines: Sequence[str]) -> Iterator[_Hunk]:
    """Yield each hunk of the files that exist after the change."""
    file, index = "", 0
    while index < len(lines):
        heading, hunk = _FILE.fullmatch(lines[index]), _HUNK.match(lines[index])
        if heading:
            file = heading[1]
        elif hunk:
            # git leaves out a count of 1.
            removed_count, first_line, added_count = (
                1 if number is None else int(number) for number in hunk.groups()[:3]
            )
            end = index + 1 + removed_count + added_count
            if file:
                # If nothing was added, git gives the line before the removed ones.
                changed_range = (
                    (first_line, first_line + added_count - 1) if added_count else (first_line + 1, first_line + 1)
                )
                added_lines = [line[1:] for line in lines[index + 1 : end] if line.startswith("+")]
                yield _Hunk(file, changed_range, hunk[4], added_lines)
            index = end - 1
        elif lines[index].startswith("diff --git "):
            file = ""  # The next file may be a removed one, which has no "+++ b/" heading.
        index += 1
