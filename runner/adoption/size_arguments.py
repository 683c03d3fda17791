"""Finds the arguments that tell a program how much to compute, in the usage that it prints."""

import re

_USAGE = re.compile(r"\busage\b", re.IGNORECASE)
_MAX_USAGE_LINES = 6
"""How many lines from the one with the word "usage" on may contain the arguments."""
_WORD = re.compile(r"[<\[{]?([A-Za-z]\w{0,30})[>\]}]?")
_COUNT = r"(?:n|num|number|max)?_?(?:of_)?"
_DIMENSION = re.compile(
    rf"n?[xyz]|n[ijk]|{_COUNT}(?:rows|cols|columns)|dim_?[xyz123]?|width|height|depth", re.IGNORECASE
)
_SIZE = re.compile(
    rf"n|size|length|{_COUNT}(?:items|elements|points|particles|keys|nodes|bodies|samples)", re.IGNORECASE
)
_ROUNDS = re.compile(
    rf"{_COUNT}(?:iters?|iterations?|steps?|timesteps?|rounds?|reps?|repetitions|loops?)", re.IGNORECASE
)
_MAX_ARGUMENTS = 4
_DIMENSIONS = {1: "512", 2: "512", 3: "64"}
"""The value of each dimension, by their number: about a quarter of a million elements, if there are two or three."""
_SIZE_VALUE, _ROUNDS_VALUE = "10000", "10"


def find_size_arguments(text: str) -> str:
    """Return arguments for a program whose usage asks only for sizes and numbers of rounds; empty if it does not.

    An example is ``Usage: solve nx ny nz``, which gets ``64 64 64``.

    Parameters
    ----------
    text
        What the program prints without arguments.
    """
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if _USAGE.search(line)), None)
    if start is None:
        return ""
    for line in lines[start : start + _MAX_USAGE_LINES]:
        # The words after the last one that is no name, such as the path of the program.
        words = line.split()
        names: list[str] = []
        for word in reversed(words):
            match = _WORD.fullmatch(word)
            if match is None:
                break
            names.insert(0, match[1])
        is_after_program = 0 < len(names) < len(words) and "/" in words[-len(names) - 1]
        values = _choose_values(names) if is_after_program and len(names) <= _MAX_ARGUMENTS else []
        if values:
            return " ".join(values)
    return ""


def _choose_values(names: list[str]) -> list[str]:
    """Return a value for each argument; empty if the meaning of one is unknown."""
    n_dimensions = sum(_DIMENSION.fullmatch(name) is not None for name in names)
    values = []
    for name in names:
        if _DIMENSION.fullmatch(name):
            values.append(_DIMENSIONS.get(n_dimensions, "16"))
        elif _SIZE.fullmatch(name):
            values.append(_SIZE_VALUE)
        elif _ROUNDS.fullmatch(name):
            values.append(_ROUNDS_VALUE)
        else:
            return []
    return values
