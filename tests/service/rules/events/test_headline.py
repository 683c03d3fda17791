from __future__ import annotations

import pytest

from service.rules.events.headline import headline
from tests.service import made_series


@pytest.mark.parametrize(
    ("name", "unit", "after", "expected"),
    [
        ("minor-faults", "faults", 4196, "+4,096 minor faults (+4,096 %) in copy"),
        ("minor-faults", "faults", 99, "−1 minor fault (−1 %) in copy"),
        ("throughput", "operations/s", 88.5, "Throughput −11.5 operations/s (−11.5 %) in copy"),
    ],
)
def test_a_headline_gives_the_change_with_its_unit(name: str, unit: str, after: float, expected: str) -> None:
    drift = made_series.drift(
        1, made_series.point(0, 100), made_series.point(1, after), metric=name, unit=unit, case="copy"
    )
    assert headline([drift]) == expected


def moved(case: str, before: float, after: float) -> made_series.Drift:
    return made_series.drift(1, made_series.point(0, before), made_series.point(1, after), case=case, id=case)


def test_a_headline_does_not_hide_what_moved_further_or_back() -> None:
    drifts = [moved("small", 10, 40), moved("large", 100_000, 172_725), moved("back", 60_000, 30_190)]
    assert headline(drifts) == (
        "+30 minor faults (+300 %) in small and 1 more, up to +72,725 minor faults (+72.7 %) in large; "
        "better: −29,810 minor faults (−49.7 %) in back"
    )


def test_a_headline_of_one_change_in_many_cases_counts_the_others() -> None:
    drifts = [moved(name, 100, 200) for name in ("one", "two", "three")]
    assert headline(drifts) == "+100 minor faults (+100 %) in one and 2 more"
