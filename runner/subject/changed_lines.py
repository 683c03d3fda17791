"""The lines that differ between two commits, in the newer one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice

from runner.contract.diagnosis import MAX_CHANGED_FILES, MAX_CHANGED_RANGES, LineRange
from runner.subject.hardened_git import GitError
from runner.subject.repository import Repository

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_FILE = re.compile(r"\+\+\+ b/([^\t]+)\t?")  # git ends a name that has a space with a tab
_OPTIONS = ("--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--dst-prefix=b/")


def list_changed_lines(repository: Repository, base: str, head: str) -> dict[str, tuple[LineRange, ...]]:
    """Return which lines of each file differ from base, as ranges in head; empty where git cannot compare them."""
    try:
        text = repository.git("diff", *_OPTIONS, base, head, "--", paths=True)
    except GitError:
        return {}
    return parse_changed_lines(text)


def parse_changed_lines(text: str) -> dict[str, tuple[LineRange, ...]]:
    """Return the ranges of added lines in a difference without context, as many as a request may have.

    What a hunk consists of is skipped by its length, so that no line of a source file passes for a heading.
    """
    ranges: defaultdict[str, list[LineRange]] = defaultdict(list)
    for file, lines in islice(_iterate_ranges(text.split("\n")), MAX_CHANGED_RANGES):
        if file in ranges or len(ranges) < MAX_CHANGED_FILES:
            ranges[file].append(lines)
    return {file: tuple(each) for file, each in ranges.items()}


def _iterate_ranges(lines: list[str]) -> Iterator[tuple[str, LineRange]]:
    """Yield each range of added lines with its file."""
    file, at = "", 0
    while at < len(lines):
        if heading := _FILE.fullmatch(lines[at]):
            file = heading[1]
        elif hunk := _HUNK.match(lines[at]):
            removed, first, added = (1 if number is None else int(number) for number in hunk.groups())
            if added and file:
                yield file, (first, first + added - 1)
            at += removed + added
        elif lines[at].startswith("diff --git "):
            file = ""
        at += 1
