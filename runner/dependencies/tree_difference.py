"""Lists the differences between two built trees: names, contents, sizes, modes, times, links."""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress

from runner.dependencies.lookup_answers_in_tree import Answer, ProgramTree, answer_lookups
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
"""The largest number of differences that are named."""


def find_tree_differences(base: ProgramTree, head: ProgramTree) -> list[str]:
    """Return the first differences between two trees, as clauses; empty if a tree is too large."""
    base_answers, head_answers = (
        answer_lookups(program_tree, Lookups(frozenset(_list_questions(program_tree)))).tree_answers
        for program_tree in (base, head)
    )
    clauses: dict[str, list[str]] = {}
    for kind, path in sorted(base_answers.keys() | head_answers.keys(), key=lambda question: question[::-1]):
        base_answer, head_answer = base_answers.get((kind, path)), head_answers.get((kind, path))
        if base_answer != head_answer:
            clauses.setdefault(path, []).extend(_describe_difference(kind, base_answer, head_answer))
    sentences = [f"{path}: {', '.join(dict.fromkeys(words))}" for path, words in clauses.items() if words]
    return [line.encode(errors="backslashreplace").decode()[:1000] for line in sentences[:MAX_NAMED_DIFFERENCES]]


def _list_questions(program_tree: ProgramTree) -> Iterator[tuple[str, str]]:
    """Yield a question about each file of a tree: where it leads, its content and its extended attributes."""
    with suppress(TreeTooLarge, OSError):
        for entry in walk_tree(program_tree.tree):
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
    return [name for name, base_value, head_value in zip(_FIELDS, base, head, strict=True) if base_value != head_value]
