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
_NO_TYPE = frozenset(
    {"return", "else", "in", "case", "goto", "sizeof", "throw", "delete", "new", "not", "and", "or", "is", "if"}
    | {"while", "for", "switch", "await", "yield", "import", "from"}
)
"""Words before a name that are not its type, so that the name is not declared there."""
_MAX_INLINED_TOKENS = 500
"""New variables are looked for in code of at most this length."""
_AFTER_DECLARED = frozenset({"=", ";", ",", ")", "[", ":", "{", "in", "of", "("})
_CONDITIONAL = frozenset(
    {"while", "for", "do", "if", "switch", "loop", "?", "&&", "||", "&", "|", "and", "or", "lambda"}
)
"""Words and signs in a statement whose later parts may be executed more than once, or not at all."""


def list_tokens(file: str, text: str) -> list[tuple[str, ...]]:
    """Return the tokens of each line of a source file, without comments."""
    return [tuple(_TOKEN.findall(line)) for line in blank_comments(file, text)]


def blank_comments(file: str, text: str) -> list[str]:
    """Return the lines of a source file, with spaces in place of comments.

    Parameters
    ----------
    file
        The name of the file, which decides what a comment looks like.
    """
    pattern = _choose_pattern(file)
    lines = []
    in_comment = False
    for row in text.split("\n"):
        line = row
        if in_comment:
            comment, end, rest = row.partition("*/")
            line = " " * len(comment + end) + rest
            in_comment = not end
        pieces: list[str] = []
        start = 0
        for match in () if in_comment else pattern.finditer(line):
            if match.lastgroup is not None:
                pieces += (line[start : match.start()], " " * len(match[0]))
                start = match.end()
                in_comment = match.lastgroup == "opening"
        lines.append("".join((*pieces, line[start:])).rstrip())
    return lines


def _choose_pattern(file: str) -> re.Pattern[str]:
    path = PurePosixPath(file)
    if path.name in _HASH_NAMES or path.suffix.lower() in _HASH_SUFFIXES:
        return _HASH_COMMENT
    if re.fullmatch(r"\.(?:f|for|f\d\d)", path.suffix.lower()):
        return _EXCLAMATION_COMMENT
    return _SLASH_COMMENT


def find_renamed(hunks: Sequence[tuple[Sequence[str], Sequence[str]]], tokens_before: frozenset[str]) -> dict[str, str]:
    """Return the variables and functions that a change only renames: the new names with the old ones.

    A name counts as renamed if it is new in the file, stands in the place of one and the same old name wherever lines
    changed, and is declared in one of these lines.

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
        if len(before) != len(after):
            continue
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            if old == new or not (_NAME.fullmatch(old) and _NAME.fullmatch(new)):
                continue
            if new in tokens_before or old_names.setdefault(new, old) != old:
                contradicted.add(new)
            if _is_declared(after, index):
                declared.add(new)
    return {new: old for new, old in old_names.items() if new in declared and new not in contradicted}


def _is_declared(tokens: Sequence[str], index: int) -> bool:
    """Return whether a name is declared at its place: after a type or a word such as ``let``, before what may follow.

    A name that begins an assignment is declared in languages without declarations.
    """
    previous = tokens[index - 1] if index else ""
    following = tokens[index + 1] if index + 1 < len(tokens) else ";"
    is_assigned = following == "=" and not previous
    is_after_type = (_NAME.fullmatch(previous) is not None and previous not in _NO_TYPE) or previous in {"*", "&", ">"}
    is_short_declaration = tokens[index + 1 : index + 3] == (":", "=")
    return (is_after_type and following in _AFTER_DECLARED) or is_assigned or is_short_declaration


def is_same_code(before: Sequence[str], after: Sequence[str], renamed: dict[str, str]) -> bool:
    """Return whether two pieces of code do the same, judging by their tokens.

    They may differ in comments, spaces, renamed variables, and in a variable of the new code that only holds a part of
    its next statement.
    """
    expected = tuple(before)
    code: tuple[str, ...] | None = tuple(renamed.get(token, token) for token in after)
    known = frozenset(before)
    is_short = len(after) <= _MAX_INLINED_TOKENS
    while code is not None and code != expected:
        code = _inline_variable(code, known) if is_short else None
    return code is not None


def _inline_variable(tokens: tuple[str, ...], known: frozenset[str]) -> tuple[str, ...] | None:
    """Return code without its first new variable that is used once, in the statement after its declaration.

    None if there is none.
    """
    for index in range(1, len(tokens)):
        name = tokens[index - 1]
        if tokens[index] != "=" or name in known or not _NAME.fullmatch(name):
            continue
        end = _find_end(tokens, index)
        rest = tokens[end + 1 :]
        if rest.count(name) != 1 or name in tokens[index + 1 : end]:
            continue
        use = rest.index(name)
        if ";" in rest[:use] or _CONDITIONAL & frozenset(rest[:use]):
            continue
        start = max((place + 1 for place in range(index) if tokens[place] in {";", "{", "}"}), default=0)
        return (*tokens[:start], *rest[:use], *tokens[index + 1 : end], *rest[use + 1 :])
    return None


def _find_end(tokens: Sequence[str], start: int) -> int:
    """Return the index of the semicolon that ends a statement; the length of the code if there is none."""
    return next((index for index in range(start, len(tokens)) if tokens[index] == ";"), len(tokens))
