"""Cells that a spreadsheet shows and does not execute."""

import pytest

from service.text.csv_cells import escape_cells


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "@SUM(A1)", "-2+3+cmd", "\t=1", "\r=1"])
def test_formulas_become_text(text: str) -> None:
    assert escape_cells([text]) == [f"'{text}"]


def test_values_stay() -> None:
    values = ["copy[mib=8]", -3, "-3.5", "", None, 1e9, "a=b"]
    assert escape_cells(values) == values
