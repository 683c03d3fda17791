"""How numbers are written on a terminal."""

import pytest

from runner.cli.formatting import format_quantity, format_value_range


@pytest.mark.parametrize(
    ("name", "low", "high", "shown"),
    [
        ("cpu-migrations", 0, 1, "0 – 1"),
        ("minor-faults", 594, 1_650, "594 – 1,650"),
        ("elapsed", 0.00112, 0.00159, "1.12 – 1.59 ms"),
    ],
)
def test_a_range_is_written_without_the_unit_that_its_row_names(name: str, low: float, high: float, shown: str) -> None:
    assert format_value_range(name, low, high) == shown


def test_two_values_that_are_compared_are_told_apart() -> None:
    assert format_quantity("elapsed", 1.0001, 1.0002) == "1.0001 s"
    assert format_quantity("elapsed", None) == "no value"
