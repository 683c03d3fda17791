import pytest

from runner.importing.units import find_direction, standardize_unit


@pytest.mark.parametrize(
    ("unit", "better"),
    [
        ("ns", "lower"), ("ns/op", "lower"), ("B/op", "lower"), ("MiB", "lower"), ("bytes", "lower"), ("ms", "lower"),
        ("MB/s", "higher"), ("ops/us", "higher"), ("iter/sec", "higher"), ("req per second", "higher"),
        ("items/s", "higher"), ("", None), ("score", None), ("counts", None), ("%", None),
    ],
)  # fmt: skip
def test_the_direction_of_a_unit(unit: str, better: str | None) -> None:
    assert find_direction(unit) == better


@pytest.mark.parametrize(
    ("unit", "becomes", "factor"),
    [("us/op", "ns/op", 1e3), ("ops/us", "ops/s", 1e6), ("ops/s", "ops/s", 1.0), ("ms", "ns", 1e6), ("MB", "MB", 1.0)],
)
def test_times_and_rates_have_one_unit(unit: str, becomes: str, factor: float) -> None:
    assert standardize_unit(unit) == (becomes, pytest.approx(factor))
