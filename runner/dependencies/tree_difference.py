"""Lists the differences between two built trees: names, contents, sizes, modes, times, links."""

import stat
from collections.abc import Iterator, Mapping

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.dependencies.lookup_answers import Answer, ProgramTree, answer_lookups, list_attributes
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
"""The names of the fields in the answer about the state of a file, in their order."""
_LINK = "link"
"""The first field in the answer about the state of a symbolic link."""
MAX_NAMED_DIFFERENCES = 10
"""The largest number of differences that are named."""


def find_tree_differences(base: ProgramTree, head: ProgramTree) -> list[str]:
    """Return the first differences between two trees, as clauses; empty if a tree is too large, or cannot be read."""
    try:
        base_answers, head_answers = _answer_all_questions(base), _answer_all_questions(head)
    except (TreeTooLarge, OSError):
        return []
    respects_by_path: dict[str, list[str]] = {}
    for kind, path in sorted(
        base_answers.keys() | head_answers.keys(), key=lambda question: (question[1], question[0])
    ):
        base_answer, head_answer = base_answers.get((kind, path)), head_answers.get((kind, path))
        if base_answer != head_answer:
            respects_by_path.setdefault(path, []).extend(_describe_difference(kind, base_answer, head_answer))
    clauses = [
        f"{path}: {', '.join(dict.fromkeys(respects))}" for path, respects in respects_by_path.items() if respects
    ]
    # File names need not be valid text.
    return [
        clause.encode(errors="backslashreplace").decode()[:MAX_LINE_CHARACTERS]
        for clause in clauses[:MAX_NAMED_DIFFERENCES]
    ]


def _answer_all_questions(program_tree: ProgramTree) -> Mapping[tuple[str, str], Answer]:
    """Return the answers to the questions about each file of a tree, by kind and path."""
    questions = frozenset(_list_questions(program_tree))
    return answer_lookups(program_tree, Lookups(questions)).tree_answers


def _list_questions(program_tree: ProgramTree) -> Iterator[tuple[str, str]]:
    """Yield questions about each file of a tree: its own status, its content and its extended attributes."""
    for entry in walk_tree(program_tree.tree):
        mode = entry.stat(follow_symlinks=False).st_mode
        if not stat.S_ISDIR(mode):
            yield "l", entry.path
        if stat.S_ISREG(mode):
            yield "c", entry.path
            if list_attributes(entry.path):
                yield "x", entry.path


def _describe_difference(kind: str, base: Answer | None, head: Answer | None) -> list[str]:
    """Return the respects in which two answers to one question differ.

    The kinds of questions are those of :data:`runner.dependencies.recorded_lookups.Kind`: ``l`` asks about the name
    itself, ``c`` about the content, ``x`` about the extended attributes.
    """
    if base is None or head is None:
        if kind != "l":
            return []  # The answers of kind "l" already show that one side lacks the file.
        return ["only in head" if base is None else "only in base"]
    if kind == "c":
        return ["content"] if base[1:] != head[1:] else []
    if kind == "x":
        return ["extended attributes"]
    are_links = [answer[0] == _LINK for answer in (base, head)]
    if any(are_links):
        return ["target" if all(are_links) else f"a link only in {'base' if are_links[0] else 'head'}"]
    return [name for name, base_value, head_value in zip(_FIELDS, base, head, strict=True) if base_value != head_value]
