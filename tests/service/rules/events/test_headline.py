from __future__ import annotations

import pytest

from service.rules.events.headline import headline
from tests.service import made_series


@pytest.mark.parametrize(
    ("name", "unit", "after", "expected"),
    [
        ("minor-faults", "faults", 4196, "+4,096 minor faults (+4,096 %) in copy"),
        ("minor-faults", "faults", 99, "-1 minor fault (-1 %) in copy"),
        ("throughput", "operations/s", 88.5, "Throughput -11.5 operations/s (-11.5 %) in copy"),
    ],
)
def test_a_headline_gives_the_change_with_its_unit(name: str, unit: str, after: float, expected: str) -> None:
    drift = made_series.drift(
        1, made_series.point(0, 100), made_series.point(1, after), metric=name, unit=unit, case="copy"
    )
    assert headline([drift]) == expected
