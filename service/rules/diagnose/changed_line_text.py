"""Finds the text of the changed line that explains a difference, so that a reader sees what was done to it."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.code_change import ChangedCode
from runner.contract.diagnosis import Difference


def add_changed_code(difference: Difference, changed_code: Sequence[ChangedCode]) -> Difference:
    """Return a difference with the text of its changed line, or of its altered definition; unchanged without either.

    The values of a macro and the fields of a type are told elsewhere.
    """
    changed_place, definition = difference.changed_place, difference.altered_definition
    code = None
    if definition is not None and not definition.values and (definition.is_function or not difference.resized_types):
        code = find_changed_code(changed_code, definition.source_file, definition.source_line)
    elif changed_place is not None and definition is None:
        code = find_changed_code(
            changed_code,
            changed_place.source_file,
            changed_place.source_line,
            is_line_before=changed_place.is_removed,
        )
    return difference if code is None else difference.model_copy(update={"changed_code": code})


def find_changed_code(
    changed_code: Sequence[ChangedCode], file: str, line: int, *, is_line_before: bool = False
) -> ChangedCode | None:
    """Return the text of a changed line; None if it is unknown.

    Where several lines were removed, it is the longest of them, unless there is a line in their place.

    Parameters
    ----------
    is_line_before
        Whether the number is that before the change.
    """
    lines = [
        code
        for code in changed_code
        if code.file == file and (code.line_before if is_line_before else code.line) == line
    ]
    return max(lines, key=lambda code: (bool(code.text_after), len(code.text_before)), default=None)
