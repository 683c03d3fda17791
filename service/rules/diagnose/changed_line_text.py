"""Finds the text of the changed line that explains a difference, so that a reader sees what was done to it."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.code_change import ChangedCode
from runner.contract.diagnosis import ChangedPlace, Difference


def add_changed_code(difference: Difference, changed_code: Sequence[ChangedCode]) -> Difference:
    """Return a difference with the text of its changed line, or of its altered definition; unchanged without either.

    The values of a macro and the fields of a type are told elsewhere.
    """
    changed_place, definition = difference.changed_place, difference.altered_definition
    code = None
    if definition is not None and not definition.values and (definition.is_function or not difference.resized_types):
        code = find_changed_code(changed_code, definition.source_file, definition.source_line)
    elif changed_place is not None and definition is None:
        code = _choose_code([each for each in changed_code if is_code_of_place(each, changed_place)])
    return difference if code is None else difference.model_copy(update={"changed_code": code})


def is_code_of_place(code: ChangedCode, place: ChangedPlace) -> bool:
    """Return whether changed code is the text of a changed line."""
    line = code.line_before if place.is_removed else code.line
    return (code.file, line) == (place.source_file, place.source_line)


def find_changed_code(changed_code: Sequence[ChangedCode], file: str, line: int) -> ChangedCode | None:
    """Return the text of a line with a number after the change; None if it is unknown."""
    return _choose_code([code for code in changed_code if (code.file, code.line) == (file, line)])


def _choose_code(lines: Sequence[ChangedCode]) -> ChangedCode | None:
    """Return the text of a line that remains, or else the longest of several that were removed; None without any."""
    return max(lines, key=lambda code: (bool(code.text_after), len(code.text_before)), default=None)
