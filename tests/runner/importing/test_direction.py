import pytest

from runner.importing.direction import find_direction


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
