"""Escapes cells of a CSV file, so that a spreadsheet does not execute them as formulas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_cells(values: Iterable[Any]) -> list[Any]:
    """Return cells with an apostrophe before each text that a spreadsheet would take for a formula."""
    return [f"'{value}" if isinstance(value, str) and _is_formula(value) else value for value in values]


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet would take a text for a formula."""
    if not text.startswith(_FORMULA_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return text != "-"  # A single hyphen stands for a missing value.
    return False
