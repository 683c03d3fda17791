import pytest

from runner.importing.units import standardize_unit


@pytest.mark.parametrize(
    ("unit", "becomes", "factor"),
    [("us/op", "ns/op", 1e3), ("ops/us", "ops/s", 1e6), ("ops/s", "ops/s", 1.0), ("ms", "ns", 1e6), ("MB", "MB", 1.0)],
)
def test_times_and_rates_have_one_unit(unit: str, becomes: str, factor: float) -> None:
    assert standardize_unit(unit) == (becomes, pytest.approx(factor))
