"""Shortens the names of functions, so that what tells them apart stays: the method, not its types."""

import re

MAX_NAME_CHARACTERS = 60
"""Characters of a name in a table."""
_OPERATOR = re.compile(
    r"operator\s*(?:\(\)|\[\]|<=>|<<=?|>>=?|<=|>=|->\*?|<|>)|->|=>|\(anonymous namespace\)|\(\*?\w+\)(?=\.)"
)
"""Brackets that enclose no types: those of an operator, an arrow, a namespace, or of a receiver in Go."""
_OPEN, _CLOSED = "<([", ">)]"
_MASK_BRACKETS = str.maketrans("<>()[]", "\ue000\ue001\ue002\ue003\ue004\ue005")
_UNMASK_BRACKETS = str.maketrans("\ue000\ue001\ue002\ue003\ue004\ue005", "<>()[]")


def shorten_name(name: str, max_characters: int = MAX_NAME_CHARACTERS) -> str:
    """Shorten a function's name to at most ``max_characters`` characters.

    The types between brackets are left out first, the innermost before the others. If the name is still too long, its
    middle is left out.
    """
    if len(name) <= max_characters:
        return name
    masked_name = _OPERATOR.sub(lambda match: match[0].translate(_MASK_BRACKETS), name)
    for depth in range(_compute_depth(masked_name), 0, -1):
        masked_name = _replace_nested_types(masked_name, depth)
        if len(masked_name) <= max_characters:
            break
    short_name = masked_name.translate(_UNMASK_BRACKETS)
    if len(short_name) <= max_characters:
        return short_name
    start_characters = max_characters // 3
    end_characters = max_characters - start_characters - len("…")
    return f"{short_name[:start_characters]}…{short_name[-end_characters:]}"


def _compute_depth(name: str) -> int:
    """Return how deeply brackets are nested in a name."""
    deepest = depth = 0
    for char in name:
        depth = max(0, depth + (char in _OPEN) - (char in _CLOSED))
        deepest = max(deepest, depth)
    return deepest


def _replace_nested_types(name: str, min_depth: int) -> str:
    """Replace what brackets enclose at least ``min_depth`` levels deep by an ellipsis."""
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
