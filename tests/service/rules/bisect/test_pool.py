"""What hosts that share a search leave to each other, and whom they wait for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.rules.bisect import pool
from service.rules.bisect.pool import LastMeasurement, Reservation
from service.rules.bisect.question import Observation

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def reservation(age: float, *commits: str, seconds: float | None = None) -> Reservation:
    return Reservation("lab-2", commits or ("c",), NOW - timedelta(seconds=age), seconds)


def ended(seconds: float, ago: float = 0) -> LastMeasurement:
    return LastMeasurement(NOW - timedelta(seconds=ago), seconds)


def test_a_reservation_blocks_nobody_for_ever() -> None:
    longest = pool.MAX_RESERVATION.total_seconds()
    old, empty, young = reservation(longest), Reservation("lab-3", (), NOW), reservation(longest - 1)
    assert pool.valid([old, empty, young], NOW) == [young]


@pytest.mark.parametrize(
    ("one", "last", "waits"),
    [
        (reservation(9), ended(10), True),
        (reservation(5), ended(10), False),
        (reservation(12), ended(10), True),
        (reservation(13), ended(10), False),
        (reservation(9, "parent", "culprit"), ended(10), False),
        (reservation(9), None, False),
        (reservation(9), ended(10, ago=6), False),
        (reservation(9, seconds=30), ended(10), False),
        (reservation(29, seconds=30), ended(10), True),
        (reservation(9, seconds=1), ended(10), False),
    ],
    ids=["soon", "later", "overdue", "slow", "proof", "first", "waited", "slower", "slower-soon", "faster"],
)
def test_a_host_waits_for_what_is_about_to_end(one: Reservation, last: LastMeasurement | None, waits: bool) -> None:
    assert pool.ending_soon([one], last, NOW) == ([one] if waits else [])


def test_a_host_that_waits_asks_again_soon() -> None:
    assert pool.pause(None) == pool.LEAST_PAUSE
    assert pool.pause(ended(100)) == 5
    assert pool.pause(ended(1e6)) == pool.MOST_PAUSE


def runs(**levels: tuple[str, int]) -> list[Observation]:
    return [
        Observation(commit=name.partition("_")[0], host=host, value=value) for name, (host, value) in levels.items()
    ]


def test_hosts_that_count_the_same_commits_differently_are_not_identical() -> None:
    same = runs(a_1=("x", 5), a_2=("y", 5), b_1=("x", 7))
    other = runs(b_2=("y", 9))
    assert pool.disagreement(same, 0) == ""
    assert pool.disagreement([*same, *other], 0) == "", "one of two may be a stray"
    both = [*runs(a_1=("x", 5), a_2=("y", 6)), *runs(b_1=("x", 7), b_2=("y", 9))]
    assert "a measures 5 on x, 6 on y" in pool.disagreement(both, 0)
    assert pool.disagreement(both, 3) == "", "such differences do not matter"
    assert pool.disagreement([], 0) == ""
