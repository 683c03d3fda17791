"""Formats the place of faults: a function with its line."""

import re

from runner.contract.base import MAX_LINE_CHARACTERS
from runner.contract.function_names import shorten_name
from runner.contract.own_frame import shorten_source_path
from runner.contract.profile import COMPILED_MODULE, UNKNOWN_FUNCTION
from runner.contract.profile_difference import FunctionLine

_EARLIER = " (before)"
"""What follows a place whose line number is that before a change, because it can be that of other code now."""
_NUMBER = re.compile(r"\d{3,}")
"""Numbers in file names, such as process ids, which differ from one execution to the next."""


def replace_numbers(file: str) -> str:
    """Return a file name without the numbers that differ from one execution to the next, such as process ids."""
    return _NUMBER.sub("N", file)


def mark_earlier_place(place: str) -> str:
    """Return a function with its line, marked as a line of the state before the change."""
    return place if place.endswith(_EARLIER) else f"{place[: MAX_LINE_CHARACTERS - len(_EARLIER)]}{_EARLIER}"


def is_earlier_place(place: str) -> bool:
    """Return whether a place is marked as a line of the state before the change."""
    return place.endswith(_EARLIER)


def format_place(place: FunctionLine) -> str:
    """Return a function with its line, or with its module if this is a shared library; without symbols, the module.

    A line that has faults only before the change is marked, because the number can be that of other code now.
    """
    line = place.line_after or place.line_before
    suffix = "" if place.line_after else _EARLIER
    function = shorten_name(place.function_key.function)
    if function == UNKNOWN_FUNCTION and place.function_key.module == COMPILED_MODULE:
        return COMPILED_MODULE
    if function == UNKNOWN_FUNCTION:
        return replace_numbers(place.function_key.module.strip("[]")) or "code without names"
    file = shorten_source_path(place.function_key.file)
    module = f" in {place.function_key.module}" if ".so" in place.function_key.module else ""
    text = f"{function} at {file}:{line}{suffix}" if file and line and not module else f"{function}{module}"
    return text[:MAX_LINE_CHARACTERS]
