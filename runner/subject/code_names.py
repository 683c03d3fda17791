"""Finds the names whose definitions contain given lines of source code: macros, constants, types, functions.

A line that encloses others is called their header: the first line of a function, a type, a table or a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MACRO = re.compile(r"\s*#\s*define\s+(\w+)")
_TYPE = re.compile(
    r"\b(?:struct|class|union|enum|interface|record|trait)\b"
    r"(?:(?:\s+(?!(?:extends|implements|final|where)\b)\w+)*\s+(?!(?:extends|implements|final|where)\b)([A-Za-z_]\w*))?"
)
"""The beginning of a type. Macros can precede its name."""
_GO_TYPE = re.compile(r"\s*type\s+(\w+)(?:\[[^\]]*\])?\s+(?:struct|interface)\b")
_BLOCK_OF_VALUES = re.compile(r"\s*(?:const|var|let)\s*\(?\s*$|.*\benum\b.*")
_CONSTANT = re.compile(r"\b(?:const|constexpr|constinit|final|static)\b.*=")
_FUNCTION = re.compile(
    r"(?:\bfunc\s+(?:\([^)]*\)\s*)?|\bfn\s+|\bdef\s+|\bfunction\s*\*?\s*)(\w+)|"
    r"\b(?!(?:if|for|while|switch|return|sizeof|catch|defined|alignof|typeof|decltype|else|match|with|until)\b)"
    r"([A-Za-z_]\w*)\s*(?:<[^;()]*>)?\("
)
_DECLARATION = re.compile(
    r"(?:extern|import|from|use)\b|(?:struct|class|union|enum)\s+\w+\s*;|typedef\s+(?:struct|union|enum)\s+(\w+)\s+\1\s*;"
)
"""A line that declares what is defined elsewhere."""
_FUNCTION_WORD = re.compile(r"\b(?:func|fn|def|function)\b")
_CONTROL = re.compile(r"\s*(?:\}\s*)?(?:if|for|while|switch|do|else|try|catch|with|match|case|default|loop|unsafe)\b")
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^=;]*|(?<!:):(?!:)[^=;]*)?(?:=(?!=)|;|$|\{)")
_MAX_LINE_OF_VALUE = 150
"""In a longer line, in characters, no value is searched for."""
_VALUE = re.compile(r"[\w.+\-*/<>()&|~^ '\"]{1,40}")
"""A simple value: a number, a name, or a short expression of them."""
_KEYWORDS = frozenset(
    {"if", "for", "while", "switch", "return", "sizeof", "catch", "defined", "alignof", "typeof", "decltype", "else"}
    | {"match", "with", "until", "func", "fn", "def", "function", "lambda", "import", "interface", "struct", "class"}
    | {"enum", "union", "type", "var", "let", "const", "static", "new", "delete", "await", "yield", "throw", "case"}
    | {"go", "defer", "map", "chan", "async", "impl", "use", "mod", "package", "namespace", "template", "operator"}
)
"""Words of programming languages that are not names, but can be where names are expected."""
_NO_HEADER = re.compile(r"\s*(?:$|[{})\]*]|//|#\s*\w|@|(?:public|private|protected)\b[^()]*:\s*$|namespace\b)")
"""Lines that are no headers, although they are less indented: a brace, a comment, a directive, an access label."""
_ARGUMENTS = re.compile(r"<[^<>]*>")
"""The arguments of a template."""
_MAX_HEADERS = 12
"""At most this many headers of a line are considered."""
_MAX_DISTANCE = 5000
"""How many lines before a line are searched for its headers."""
_MAX_LINE_CHARACTERS = 500
"""Longer lines are data, or were written by a program."""


def find_defined_names(lines: Sequence[str], number: int) -> tuple[str, ...]:
    """Return the names whose definitions contain a line; empty if none is recognised.

    Code is recognised by its indentation and by words that most languages share.

    Parameters
    ----------
    number
        The number of the line, from 1 on.
    """
    if not 0 < number <= len(lines) or len(lines[number - 1]) > _MAX_LINE_CHARACTERS:
        return ()
    line = lines[number - 1]
    first = _find_first_continued_line(lines, number)
    if macro := _MACRO.match(lines[first - 1]):
        return (macro[1],)
    if not line.strip() or _NO_HEADER.match(line):
        return ()
    names = _find_names_in_context(lines, number, list(_iterate_headers(lines, number)))
    return tuple(name for name in names if name not in _KEYWORDS)


def _find_names_in_context(lines: Sequence[str], number: int, headers: Sequence[int]) -> tuple[str, ...]:
    """Return the names whose definitions contain a line, given the numbers of its headers, the innermost first."""
    line = lines[number - 1]
    if not headers:
        return _find_names_at_top_level(line)
    header = lines[headers[0] - 1]
    if _BLOCK_OF_VALUES.fullmatch(header.rstrip(" {")) or (_begins_type(header) and _CONSTANT.search(line)):
        return _find_assigned_names(line)
    if _begins_type(header):
        return _find_type_names(lines, headers[0])
    return _find_name_in_headers(lines, headers)


def _begins_type(header: str) -> bool:
    """Return whether a type begins in a line."""
    return _GO_TYPE.match(header) is not None or (
        not _CONTROL.match(header) and _find_type(header) is not None and not _find_function_name(header)
    )


def _find_type(line: str) -> re.Match[str] | None:
    """Return the match of the type that begins in a line; None if none does."""
    return _TYPE.search(_ARGUMENTS.sub(" ", line))


def _find_type_names(lines: Sequence[str], header: int) -> tuple[str, ...]:
    """Return the names of the type with a header: that after its keyword, and that at the end of a ``typedef``."""
    match = _GO_TYPE.match(lines[header - 1]) or _find_type(lines[header - 1])
    names = [match[1]] if match and match[1] else []
    indentation = _measure_indentation(lines[header - 1])
    for line in lines[header:]:
        if line.strip() and _measure_indentation(line) <= indentation and (end := re.match(r"\s*\}\s*(\w+)?", line)):
            names += [end[1]] if end[1] else []
            break
    return tuple(dict.fromkeys(names))


def _find_header_name(line: str) -> tuple[str, ...]:
    """Return the name of the function or table that begins in a line; empty for a part of a function."""
    if _CONTROL.match(line):
        return ()
    if name := _find_function_name(line):
        return (name,)
    match = (_GO_TYPE.match(line) or _find_type(line)) if _begins_type(line) else None
    return ((match[1],) if match[1] else ()) if match else _find_assigned_names(line)


def _find_function_name(line: str) -> str:
    """Return the name of the function that begins in a line; empty if none does."""
    match = _FUNCTION.search(line)
    if match is None or match[match.lastindex or 0] in _KEYWORDS:
        return ""
    if re.search(r"[=.]", line[: match.start(match.lastindex or 0)].replace("...", "")):
        return ""
    return match[match.lastindex or 0]


def _find_names_at_top_level(line: str) -> tuple[str, ...]:
    """Return the names that a line outside of all functions and types defines."""
    if (go_type := _GO_TYPE.match(line)) is not None:
        return (go_type[1],)
    if re.match(r"\s*(?:import|from|use|using namespace|package|#|extern crate|return)\b", line):
        return ()
    if alias := re.match(r"\s*(?:using|type)\s+(\w+)\b", line):
        return (alias[1],)
    if (own_type := _find_type(line)) is not None and "{" in line and "}" in line:
        return (*_find_assigned_names(line.partition("{")[2]), *((own_type[1],) if own_type[1] else ()))
    if name := _find_function_name(line):
        return (name,)
    return _find_assigned_names(line)


def _find_assigned_names(line: str) -> tuple[str, ...]:
    """Return the names that a line assigns or declares, such as ``LIMIT`` in ``static const int LIMIT = 4;``."""
    text = re.sub(r'//.*|/\*.*?\*/|"[^"]*"', "", line).replace("::", "__")
    assigned = re.findall(r"([A-Za-z_]\w*)\s*(?:\[[^\]=]*\]\s*)*(?:(?<!:):(?!=)\s*[^=,;]+)?=(?!=)", text)
    if assigned:
        return tuple(dict.fromkeys(assigned))
    match = _DECLARED.search(text.rstrip(" ,{"))
    return (match[1],) if match else ()


def find_enclosing_name(lines: Sequence[str], number: int) -> str:
    """Return the name of the function, macro or type that contains a line; empty if none is recognised."""
    if not 0 < number <= len(lines) or len(lines[number - 1]) > _MAX_LINE_CHARACTERS:
        return ""
    if macro := _MACRO.match(lines[_find_first_continued_line(lines, number) - 1]):
        return macro[1]
    headers = list(_iterate_headers(lines, number))
    if not headers and not lines[number - 1].rstrip().endswith(";"):
        headers = [number]  # The function may begin in this line.
    return next(iter(_find_name_in_headers(lines, headers)), "")


def _find_name_in_headers(lines: Sequence[str], headers: Sequence[int]) -> tuple[str, ...]:
    """Return the name of the function that begins in one of the headers of a line, or else of a type or a table.

    Of several functions, it is the innermost one that begins with a word such as ``def`` or ``fn``. If none does, it is
    the outermost one, because what looks like an inner function can be a call whose arguments continue on other lines.
    """
    texts = [lines[index - 1] for index in headers if not _CONTROL.match(lines[index - 1])]
    functions = [(text, name) for text in texts if (name := _find_function_name(text))]
    with_word = [name for text, name in functions if _FUNCTION_WORD.search(text)]
    if with_word or functions:
        return (with_word[0] if with_word else functions[-1][1],)
    return next(filter(None, map(_find_header_name, texts)), ())


def is_function_name(lines: Sequence[str], number: int, name: str) -> bool:
    """Return whether a name is that of a function that contains a line or begins in it."""
    if _MACRO.match(lines[_find_first_continued_line(lines, number) - 1]):
        return False
    headers = (number, *_iterate_headers(lines, number))
    return any(
        not _CONTROL.match(line) and _find_function_name(line) == name for line in (lines[i - 1] for i in headers)
    )


def begins_function(line: str, name: str) -> bool:
    """Return whether the definition of a function begins in a line; false if the line only declares or calls it.

    A definition has a type or a word such as ``def`` before the name, or begins with the name, without indentation.
    """
    if _find_function_name(line) != name or line.rstrip().endswith((";", ",")) or _CONTROL.match(line):
        return False
    before = line[: re.search(rf"\b{re.escape(name)}\b", line).start()]  # type: ignore[union-attr]
    words = re.findall(r"\w+", before)
    if not words:
        return not _measure_indentation(line)
    return not (_KEYWORDS - {"func", "fn", "def", "function", "static", "const", "struct", "async"}).intersection(words)


def begins_definition(line: str, name: str) -> bool:
    """Return whether a constant, a type or a variable of a given name is defined in a line outside of functions."""
    is_declaration = _DECLARATION.match(line)
    return (
        not _measure_indentation(line)
        and not is_declaration
        and not _find_function_name(line)
        and name in _find_names_at_top_level(line)
    )


def _find_first_continued_line(lines: Sequence[str], number: int) -> int:
    """Return the number of the line that backslashes continue up to the given line; the given number if none does."""
    while number > 1 and lines[number - 2].endswith("\\"):
        number -= 1
    return number


def _iterate_headers(lines: Sequence[str], number: int) -> Iterator[int]:
    """Yield the numbers of the headers of a line, the innermost first: each is less indented than the one before.

    A block that is closed before the line does not enclose it, whatever the indentation: tabs and spaces can be mixed.
    """
    indentation = _measure_indentation(lines[number - 1])
    closed: set[int] = set()
    n_headers = 0
    for index in range(number - 1, max(0, number - _MAX_DISTANCE), -1):
        line = lines[index - 1]
        own_indentation = _measure_indentation(line)
        if not indentation or n_headers == _MAX_HEADERS:
            return
        if not line.strip() or own_indentation >= indentation or len(line) > _MAX_LINE_CHARACTERS:
            continue
        if line.lstrip().startswith("}"):
            closed.add(own_indentation)
        elif not line.rstrip().endswith(";") and not _NO_HEADER.match(line):
            if own_indentation in closed:
                closed.discard(own_indentation)
                continue
            indentation = own_indentation
            n_headers += 1
            yield index


def _measure_indentation(line: str) -> int:
    """Return how many columns a line is indented."""
    text = line.expandtabs(8)
    return len(text) - len(text.lstrip())


def find_value(lines: Sequence[str], name: str) -> str:
    """Return the simple value that exactly one of some lines gives a macro or a constant; empty if none does."""
    pattern = re.compile(
        rf"(?:^\s*#\s*define\s+{re.escape(name)}\s+|\b{re.escape(name)}\b[^=;(]*=(?!=)\s*)(\S[^;{{,]*?)\s*[;,]?\s*$"
    )
    short_lines = (line for line in lines if name in line and len(line) <= _MAX_LINE_OF_VALUE)
    values = [match[1] for line in short_lines if (match := pattern.search(line)) and _VALUE.fullmatch(match[1])]
    return values[0] if len(values) == 1 else ""
