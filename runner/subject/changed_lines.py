"""Lists the lines of a commit that differ from an earlier commit, and those before which lines were removed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from runner.contract.diagnosis import MAX_CHANGED_FILES, MAX_CHANGED_RANGES, LineRange
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE = re.compile(r"\+\+\+ b/([^\t]+)\t?")  # git ends a name that has a space with a tab
_OPTIONS = (
    *("--unified=0", "--inter-hunk-context=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"),
    "--dst-prefix=b/",
)
"""Options that set what a user may have configured for a diff: the hunks then contain only changed lines."""


def list_changed_lines(repository: Repository, base: str, head: str) -> dict[str, tuple[LineRange, ...]]:
    """Return the ranges of lines in each file of head that differ from base; empty if git cannot compare them.

    Where lines were only removed, the line that now stands in their place is changed.
    """
    try:
        text = repository.git("diff", *_OPTIONS, base, head, "--", decode_paths=True)
    except GitError:
        return {}
    return parse_changed_lines(text)


def parse_changed_lines(text: str) -> dict[str, tuple[LineRange, ...]]:
    """Return the ranges of changed lines in a diff without context, up to the number that a request may contain.

    The lines of a hunk are skipped by their number, so that a line of a source file is never taken for a heading.
    """
    ranges: defaultdict[str, list[LineRange]] = defaultdict(list)
    n_ranges = 0
    for file, lines in _iterate_ranges(text.split("\n")):
        if n_ranges == MAX_CHANGED_RANGES:
            break
        if file in ranges or len(ranges) < MAX_CHANGED_FILES:
            ranges[file].append(lines)
            n_ranges += 1
    return {file: tuple(file_ranges) for file, file_ranges in ranges.items()}


def _iterate_ranges(lines: list[str]) -> Iterator[tuple[str, LineRange]]:
    """Yield each changed range with its file: the added lines, or the line after those that were only removed."""
    file, index = "", 0
    while index < len(lines):
        heading, hunk = _FILE.fullmatch(lines[index]), _HUNK.match(lines[index])
        if heading:
            file = heading[1]
        elif hunk:
            # git leaves out a count of 1.
            removed_count, first_line, added_count = (1 if number is None else int(number) for number in hunk.groups())
            if file:
                # If nothing was added, git gives the line before the removed ones.
                yield file, (first_line, first_line + added_count - 1) if added_count else (first_line + 1,) * 2
            index += removed_count + added_count
        elif lines[index].startswith("diff --git "):
            file = ""  # The next file may be a removed one, which has no "+++ b/" heading.
        index += 1
