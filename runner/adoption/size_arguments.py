"""Finds the arguments that tell a program how much to compute, in the usage that it prints."""

import re
from collections.abc import Sequence

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
_SIZE_OPTION = re.compile(r"\s*(--?[A-Za-z][\w-]*)((?:[ =]+[<\[{]\w{1,30}[>\]}]){2,3})(?:[\s:,;].*)?")
"""A line of a help text with an option that takes several numbers: ``-n <nx> <ny> <nz>  description``."""
_SIZE_PLACEHOLDER = re.compile(r"(?<!\S)(?P<option>--?(?P<name>[A-Za-z]\w*))(?P<sign>[ =])<[^<>|]{1,30}>(?!\S)")
"""An option whose value stands for a number of the reader's, in a command of a document: ``-nx <X size>``."""
_DIMENSIONS = {1: 512, 2: 512, 3: 64}
"""The value of each dimension, by their number: about a quarter of a million elements, if there are two or three."""
_SIZE_VALUE, _ROUNDS_VALUE = 10_000, 10
_DIVISORS = (1, 2, 4)
"""By what the sizes are divided for a program that takes too long with them."""


def list_size_arguments(text: str) -> list[str]:
    """Return arguments for a program whose usage asks only for sizes and numbers of rounds, the largest sizes first.

    Examples are ``Usage: solve nx ny nz``, which gets ``64 64 64``, and the option ``-n <nx> <ny> <nz>``, which gets
    ``-n 64 64 64``. Empty if the usage asks for something else, too, or for nothing.

    Parameters
    ----------
    text
        What the program prints without arguments, or its help.
    """
    option, names = _find_positional_names(text) or _find_size_option(text)
    variants = (" ".join([*option, *_choose_values(names, divisor)]) for divisor in _DIVISORS)
    return list(dict.fromkeys(filter(None, variants)))


def fill_in_sizes(command: str) -> list[str]:
    """Return the commands with ever smaller values in place of the placeholders of a command.

    A command without placeholders is returned as it is. Empty if a placeholder stands for something other than a size
    or a number of rounds.

    Parameters
    ----------
    command
        A command of a document, such as ``solve -nx <width> -ny <height>``.
    """
    names = [match["name"] for match in _SIZE_PLACEHOLDER.finditer(command)]
    if not names:
        return [command]
    choices = [_choose_values(names, divisor) for divisor in _DIVISORS]
    return [_fill_in_values(command, values) for values in choices if values]


def _fill_in_values(command: str, values: Sequence[str]) -> str:
    """Return a command with the given values, in their order, in place of its placeholders."""
    remaining_values = iter(values)
    return _SIZE_PLACEHOLDER.sub(lambda match: f"{match['option']}{match['sign']}{next(remaining_values)}", command)


def _find_positional_names(text: str) -> tuple[list[str], list[str]] | None:
    """Return no option, and the names of the arguments in a usage; None if it does not consist of sizes."""
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if _USAGE.search(line)), None)
    if start is None:
        return None
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
        if is_after_program and len(names) <= _MAX_ARGUMENTS and _choose_values(names):
            return [], names
    return None


def _find_size_option(text: str) -> tuple[list[str], list[str]]:
    """Return the first option in a help text that takes only dimensions, and their names; empty if there is none."""
    for line in text.splitlines():
        match = _SIZE_OPTION.fullmatch(line)
        names = re.findall(r"\w+", match[2]) if match else []
        if match and all(map(_DIMENSION.fullmatch, names)):
            return [match[1]], names
    return [], []


def _choose_values(names: list[str], divisor: int = 1) -> list[str]:
    """Return a value for each argument, with sizes divided by a number; empty if the meaning of one is unknown."""
    n_dimensions = sum(_DIMENSION.fullmatch(name) is not None for name in names)
    values = []
    for name in names:
        if _DIMENSION.fullmatch(name):
            values.append(_DIMENSIONS.get(n_dimensions, 16) // divisor)
        elif _SIZE.fullmatch(name):
            values.append(_SIZE_VALUE // divisor)
        elif _ROUNDS.fullmatch(name):
            values.append(_ROUNDS_VALUE)
        else:
            return []
    return list(map(str, values))
