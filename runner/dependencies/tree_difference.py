"""Lists the differences between two built trees: names, contents, sizes, modes, times, links."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from runner.dependencies.lookup_answers_in_tree import Answer, Place, answer_lookups
from runner.dependencies.recorded_lookups import Lookups
from runner.system.tree_walk import TreeTooLarge, walk_tree

_FIELDS = (
    "mode",
    "device",
    "size",
    "holes",
    "number of names",
    "owner",
    "group",
    "time",
    "time of access",
    "attributes",
)
"""What the answer about the state of a file consists of."""
MAX_NAMED_DIFFERENCES = 10
"""Differences that are named."""


def find_tree_differences(base: Place, head: Place) -> list[str]:
    """Return the first differences between two trees, as clauses; empty if a tree is too large."""
    before, after = (answer_lookups(place, Lookups(frozenset(_list_questions(place)))).own for place in (base, head))
    clauses: dict[str, list[str]] = {}
    for kind, path in sorted(before.keys() | after.keys(), key=lambda question: question[::-1]):
        left, right = before.get((kind, path)), after.get((kind, path))
        if left != right:
            clauses.setdefault(path, []).extend(_describe_difference(kind, left, right))
    sentences = [f"{path}: {', '.join(dict.fromkeys(words))}" for path, words in clauses.items() if words]
    return [line.encode(errors="backslashreplace").decode()[:1000] for line in sentences[:MAX_NAMED_DIFFERENCES]]


def _list_questions(place: Place) -> Iterator[tuple[str, str]]:
    """Yield a question about each file of a tree: where it leads, its content and its extended attributes."""
    with suppress(TreeTooLarge, OSError):
        for entry in walk_tree(place.tree):
            mode = entry.stat(follow_symlinks=False).st_mode
            if not stat.S_ISDIR(mode):
                yield "l", entry.path
            if stat.S_ISREG(mode):
                yield "c", entry.path
                if os.listxattr(entry.path):
                    yield "x", entry.path


def _describe_difference(kind: str, base: Answer | None, head: Answer | None) -> list[str]:
    """Return in which respects two answers to one question differ."""
    if base is None or head is None:
        return ["only in head" if base is None else "only in base"] if kind == "l" else []
    if kind == "c":
        return ["content"] if base[1:] != head[1:] else []
    if kind == "x":
        return ["extended attributes"]
    if "link" in {base[0], head[0]}:
        return ["target"]
    return [name for name, left, right in zip(_FIELDS, base, head, strict=True) if left != right]
