"""Divides source code into tokens, and decides whether two pieces of code differ only in comments, spaces and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

_HASH_SUFFIXES = frozenset(
    {".py", ".pyi", ".rb", ".sh", ".pl", ".r", ".toml", ".yaml", ".yml", ".conf", ".cfg", ".ini", ".mk", ".cmake"}
)
_HASH_NAMES = frozenset({"Makefile", "GNUmakefile", "makefile", "CMakeLists.txt", "meson.build"})
_STRING = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'"""
_TOKEN = re.compile(rf"{_STRING}|\w+|\S")
_HASH_COMMENT = re.compile(rf"{_STRING}|(?P<comment>#.*)")
_SLASH_COMMENT = re.compile(rf"{_STRING}|(?P<comment>//.*|/\*.*?\*/)|(?P<opening>/\*.*)")
_EXCLAMATION_COMMENT = re.compile(rf"{_STRING}|(?P<comment>!.*)")
_NAME = re.compile(r"[A-Za-z_]\w*")
_NON_TYPE_WORDS = frozenset(
    {"return", "else", "in", "case", "goto", "sizeof", "throw", "delete", "new", "not", "and", "or", "is", "if"}
    | {"while", "for", "switch", "await", "yield", "import", "from"}
)
"""Words that can precede a name without being its type; the name is then not declared there."""
_AFTER_DECLARED = frozenset({"=", ";", ",", ")", "[", ":", "{", "in", "of", "("})
"""What can follow a name where it is declared."""
_CONDITIONAL = frozenset(
    {"while", "for", "do", "if", "switch", "loop", "?", "&&", "||", "&", "|", "and", "or", "lambda"}
)
"""Words and signs in a statement whose later parts may be executed more than once, or not at all."""
_MAX_INLINED_TOKENS = 500
"""Variables are not inlined in longer code: for each of them, all the code that follows it is searched."""
MAX_CODE_CHARACTERS = 2000
"""The length of the longest line that is divided into tokens, because the time can grow with the square of the length.
Longer lines were written by a tool."""


def list_tokens(file: str, text: str) -> list[tuple[str, ...]]:
    """Return the tokens of each line of a source file, without comments; a very long line is a single one."""
    return [split_tokens(line) for line in blank_comments(file, text)]


def split_tokens(line: str) -> tuple[str, ...]:
    """Return the tokens of a line without comments; a very long line is a single one."""
    return tuple(_TOKEN.findall(line)) if len(line) <= MAX_CODE_CHARACTERS else (line,)


def blank_comments(file: str, text: str) -> list[str]:
    """Return the lines of a source file, with spaces in place of comments, except in very long lines.

    Parameters
    ----------
    file
        The name of the file, which decides what a comment looks like.
    """
    pattern = _choose_comment_pattern(file)
    lines: list[str] = []
    in_comment = False
    for row in text.split("\n"):
        line = row
        if in_comment:
            comment, end, rest = row.partition("*/")
            line = " " * len(comment + end) + rest
            in_comment = not end
        if len(line) > MAX_CODE_CHARACTERS:
            lines.append(line)
            continue
        pieces: list[str] = []
        start = 0
        for match in () if in_comment else pattern.finditer(line):
            if match.lastgroup is not None:
                pieces += (line[start : match.start()], " " * len(match[0]))
                start = match.end()
                in_comment = match.lastgroup == "opening"
        lines.append("".join((*pieces, line[start:])).rstrip())
    return lines


def _choose_comment_pattern(file: str) -> re.Pattern[str]:
    """Return what matches the comments of a file, judging by its name."""
    path = PurePosixPath(file)
    if path.name in _HASH_NAMES or path.suffix.lower() in _HASH_SUFFIXES:
        return _HASH_COMMENT
    if re.fullmatch(r"\.(?:f|for|f\d\d)", path.suffix.lower()):
        return _EXCLAMATION_COMMENT
    return _SLASH_COMMENT


def find_renamed_names(
    hunks: Sequence[tuple[Sequence[str], Sequence[str]]], tokens_before: frozenset[str]
) -> dict[str, str]:
    """Return the variables and functions that a change only renames: the new names with the old ones.

    A name counts as renamed if it is new in the file, always replaces the same old name, and is declared in one of the
    changed lines.

    Parameters
    ----------
    hunks
        The tokens of each hunk before and after.
    tokens_before
        All tokens of the file before.
    """
    old_names: dict[str, str] = {}
    declared: set[str] = set()
    contradicted: set[str] = set()
    for before, after in hunks:
        for index in _list_replaced_names(before, after):
            old, new = before[index], after[index]
            if new in tokens_before or old_names.setdefault(new, old) != old:
                contradicted.add(new)
            if _is_declared(after, index):
                declared.add(new)
    return {new: old for new, old in old_names.items() if new in declared and new not in contradicted}


def _list_replaced_names(before: Sequence[str], after: Sequence[str]) -> list[int]:
    """Return the indices at which one name replaces another; none if the number of tokens differs."""
    if len(before) != len(after):
        return []
    return [
        index
        for index, (old, new) in enumerate(zip(before, after, strict=True))
        if old != new and _NAME.fullmatch(old) and _NAME.fullmatch(new)
    ]


def _is_declared(tokens: Sequence[str], index: int) -> bool:
    """Return whether the name at an index is declared there, judging by the tokens before and after it.

    It follows a type or a word such as ``let``. It can also begin an assignment: some languages have no declarations.
    """
    previous = tokens[index - 1] if index else ""
    following = tokens[index + 1] if index + 1 < len(tokens) else ";"
    is_assigned = following == "=" and not previous
    is_after_type = (_NAME.fullmatch(previous) is not None and previous not in _NON_TYPE_WORDS) or previous in {
        "*",
        "&",
        ">",
    }
    is_short_declaration = tokens[index + 1 : index + 3] == (":", "=")
    return (is_after_type and following in _AFTER_DECLARED) or is_assigned or is_short_declaration


def is_same_code(before: Sequence[str], after: Sequence[str], renamed: dict[str, str]) -> bool:
    """Return whether two pieces of code do the same, judging by their tokens.

    They may differ in comments, spaces and renamed variables, and the new code may have variables that only hold a part
    of the next statement.
    """
    restored = tuple(renamed.get(token, token) for token in after)
    return tuple(before) == _inline_variables(restored, frozenset(before))


def _inline_variables(tokens: tuple[str, ...], known: frozenset[str]) -> tuple[str, ...]:
    """Return code in which new variables that are used once, in the next statement, are replaced by their values.

    Long code is returned as it is.
    """
    index = 1
    while len(tokens) <= _MAX_INLINED_TOKENS and index < len(tokens):
        inlined = _inline_variable(tokens, index, known)
        tokens, index = (inlined, 1) if inlined else (tokens, index + 1)
    return tokens


def _inline_variable(tokens: tuple[str, ...], index: int, known: frozenset[str]) -> tuple[str, ...]:
    """Return code in which the new variable that the ``=`` at an index assigns is replaced by its value.

    Empty if no new variable is assigned there, or if inlining it could change what is executed.
    """
    name = tokens[index - 1]
    if tokens[index] != "=" or name in known or not _NAME.fullmatch(name):
        return ()
    end = _find_statement_end(tokens, index)
    rest = tokens[end + 1 :]
    if rest.count(name) != 1 or name in tokens[index + 1 : end]:
        return ()
    use = rest.index(name)
    if ";" in rest[:use] or _CONDITIONAL & frozenset(rest[:use]):
        return ()
    start = max((place + 1 for place in range(index) if tokens[place] in {";", "{", "}"}), default=0)
    return (*tokens[:start], *rest[:use], *tokens[index + 1 : end], *rest[use + 1 :])


def _find_statement_end(tokens: Sequence[str], start: int) -> int:
    """Return the index of the semicolon that ends a statement; the length of the code if there is none."""
    return next((index for index in range(start, len(tokens)) if tokens[index] == ";"), len(tokens))
