"""Shortens the names of functions, but keeps what distinguishes them: the method rather than its types."""

import re
from bisect import bisect_right

MAX_NAME_CHARACTERS = 60
"""The largest number of characters of a name in a table."""
_OPERATOR = re.compile(
    r"operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>)|->|=>|\(anonymous namespace\)|\(\*?\w+\)(?=\.)"
)
"""Brackets that do not enclose types: in an operator, in an arrow, around a namespace, or around a receiver in Go."""
_TEMPLATE_TYPES = re.compile("<…>")
_OPEN, _CLOSED = "<([", ">)]"
_MASK_BRACKETS = str.maketrans("<>()[]", "\ue000\ue001\ue002\ue003\ue004\ue005")
_UNMASK_BRACKETS = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005", "<>()[]")


def shorten_name(name: str, max_characters: int = MAX_NAME_CHARACTERS) -> str:
    """Shorten a function's name to at most ``max_characters`` characters.

    Types in brackets are left out, from the innermost level outwards, until the name is short enough. If it is still
    too long without any types, its middle is left out.
    """
    if len(name) <= max_characters:
        return name
    masked_name = _OPERATOR.sub(lambda match: match[0].translate(_MASK_BRACKETS), name)
    depths = range(1, _compute_depth(masked_name) + 1)
    if depths:
        # Search by halves, because a stranger's name can have thousands of levels: the more levels, the longer.
        n_short = bisect_right(depths, max_characters, key=lambda depth: len(_replace_nested_types(masked_name, depth)))
        masked_name = _replace_nested_types(masked_name, depths[max(0, n_short - 1)])
    short_name = masked_name.translate(_UNMASK_BRACKETS)
    if len(short_name) <= max_characters:
        return short_name
    start_characters = max_characters // 3
    end_characters = max_characters - start_characters - len("…")
    return f"{short_name[:start_characters]}…{short_name[-end_characters:]}"


def has_name(function: str, name: str) -> bool:
    """Return whether a function, perhaps with its class, its parameters or a compiler's suffix, has a name."""
    return re.search(rf"\b{re.escape(name)}\b", function) is not None


def get_qualified_name(name: str) -> str:
    """Return a function's name with its namespaces or classes, but without types: its result, parameters, templates.

    ``std::vector<int> (anonymous namespace)::f<std::less<int>>(int)`` has the qualified name ``f``.
    """
    plain_name = name.replace("(anonymous namespace)::", "")
    masked_name = _OPERATOR.sub(lambda match: match[0].translate(_MASK_BRACKETS), plain_name)
    name_without_types = _TEMPLATE_TYPES.sub("", _replace_nested_types(masked_name, 1))
    return name_without_types.partition("(")[0].strip().rpartition(" ")[2].translate(_UNMASK_BRACKETS)


def _compute_depth(name: str) -> int:
    """Return how deeply brackets are nested in a name."""
    max_depth = depth = 0
    for char in name:
        depth = max(0, depth + (char in _OPEN) - (char in _CLOSED))
        max_depth = max(max_depth, depth)
    return max_depth


def _replace_nested_types(name: str, min_depth: int) -> str:
    """Replace the content of brackets with an ellipsis, from nesting level ``min_depth`` inwards."""
    parts: list[str] = []
    depth = 0
    for char in name:
        if char in _CLOSED:
            depth = max(0, depth - 1)
        if depth < min_depth:
            parts.append(char)
        elif parts[-1] != "…":
            parts.append("…")
        depth += char in _OPEN
    return "".join(parts)
