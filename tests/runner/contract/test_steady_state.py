"""When the faults of a server have levelled off, and when it still faults."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.report import Reading, Window
from runner.contract.steady_state import (
    MAX_NEGLIGIBLE_FAULTS,
    MIN_FAULTS_PER_OPERATION,
    WindowFaults,
    align_windows,
    count_warm_up,
    describe_still_faulting,
    find_steady_growth,
    find_still_faulting_rate,
    has_levelled_off,
    list_window_faults,
)

PAGE = 4096


def fills(*faults: int) -> list[WindowFaults]:
    """Windows of 1,000 operations in which memory grows by a page for each fault, as a store that fills does."""
    return [WindowFaults(count, 1000, count * PAGE) for count in faults]


def refaults(*faults: int) -> list[WindowFaults]:
    return [WindowFaults(count, 1000, 0) for count in faults]


def test_memory_grows_by_the_pages_of_the_host() -> None:
    readings = {"minor-faults": Reading(value=1000), "resident-growth": Reading(value=1000 * 4096)}
    windows = [Window(readings=readings, operations=1000, resident=0)] * 3
    assert describe_still_faulting(list_window_faults(windows, {"memory.page_size": "4096"})).endswith("keeps growing")
    large_pages = list_window_faults(windows, {"memory.page_size": "65536"})
    assert "more than its memory growth explains" in describe_still_faulting(large_pages)
    for settings in ({}, {"memory.page_size": "0"}, {"memory.page_size": "9" * 400}):
        assert list_window_faults(windows, settings)[0].page_bytes == 4096


@pytest.mark.parametrize(
    ("faults", "level"),
    [((7400, 4300, 3000), False), ((7400, 4300, 4000), True), ((0, 0), True), ((900, 5), False), ((5, 0), True)],
)
def test_two_windows_of_one_rate_are_level(faults: tuple[int, ...], level: bool) -> None:
    assert has_levelled_off(fills(*faults)) is level


@pytest.mark.parametrize(
    ("faults", "level"),
    [
        ((3000, 2600, 2300, 2000), False),  # It falls.
        ((2000, 2300, 2600, 3000), False),  # It rises.
        ((408, 546, 210), False),
        ((208, 546, 210, 600), True),
        ((1493, 1756, 42, 169), False),  # A JVM that still compiles.
        ((900, 600, 700, 300), False),
    ],
)
def test_faults_that_come_irregularly_are_level_once_they_are_no_fewer_on_the_whole(
    faults: tuple[int, ...], level: bool
) -> None:
    assert has_levelled_off(refaults(*faults)) is level


@given(st.lists(st.integers(0, MAX_NEGLIGIBLE_FAULTS), min_size=2), st.integers(1, 10**6))
def test_a_handful_of_faults_is_level(faults: list[int], operations: int) -> None:
    assert has_levelled_off([WindowFaults(count, operations, 0) for count in faults])


@given(st.floats(0.01, 0.85), st.integers(2, 20), st.integers(1, 1000))
def test_a_rate_that_falls_is_not_level_before_it_is_nothing(ratio: float, count: int, operations: int) -> None:
    windows = [WindowFaults(10**6 * ratio**number, operations, 0) for number in range(count)]
    last = windows[-2]
    assert has_levelled_off(windows) is (last.faults <= MAX_NEGLIGIBLE_FAULTS or last.rate < MIN_FAULTS_PER_OPERATION)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_two_rates_that_take_turns_are_level(first: int, second: int) -> None:
    assert has_levelled_off(refaults(*[first, second] * 2))


def test_irregular_faults_do_settle() -> None:
    for seed in range(500):
        chance = random.Random(seed)
        faults = [round(chance.expovariate(1 / 300)) for _ in range(20)]
        assert any(has_levelled_off(refaults(*faults[:count])) for count in range(2, 21))


def test_one_window_is_never_level() -> None:
    assert not has_levelled_off(fills(0))


def test_a_store_that_fills_does_not_still_fault() -> None:
    assert describe_still_faulting(fills(7400, 4300, 4000)) == ""


def test_memory_that_grows_as_fast_as_before_is_a_growing_heap() -> None:
    assert find_steady_growth(fills(4000, 4010, 3990)) == 3.99 * PAGE
    assert describe_still_faulting(fills(9000, 4000, 4000, 4000)) == (
        "still 4.0 faults per operation after 4 windows, because its memory is still growing by 16 KiB per "
        "operation, as fast as before: its heap keeps growing"
    )
    assert find_steady_growth(fills(4000, 4000)) is None
    assert find_steady_growth(fills(4000, 3600, 3240)) is None
    assert find_steady_growth(fills(90, 90, 90)) is None
    assert find_steady_growth(refaults(4000, 4000, 4000)) is None


def test_memory_that_is_touched_again_is_still_faulting() -> None:
    assert find_still_faulting_rate(refaults(1400, 1400)) == 1.4
    assert describe_still_faulting(refaults(*[1400] * 8)).startswith("still 1.4 faults per operation after 8 windows")


def test_one_burst_is_not_still_faulting() -> None:
    assert find_still_faulting_rate(refaults(0, 5000)) is None


def test_few_faults_beside_the_growth_are_not_still_faulting() -> None:
    windows = [WindowFaults(1200, 1000, 1000 * PAGE)] * 3
    assert find_still_faulting_rate(windows) is None


_WINDOWS = st.lists(
    st.builds(WindowFaults, st.integers(0, 10**9), st.integers(1, 10**9), st.integers(-(10**12), 10**12)), max_size=8
)


@given(_WINDOWS)
def test_a_rate_that_is_named_is_one_of_the_last_window(windows: list[WindowFaults]) -> None:
    rate, growth = find_still_faulting_rate(windows), find_steady_growth(windows)
    assert rate is None or 0.1 <= rate <= windows[-1].rate
    assert rate is None or growth is None
    assert growth is None or growth > 0
    assert (describe_still_faulting(windows) == "") is (rate is None and growth is None)


def windows(warm_up: int, measured: int) -> list[Window]:
    return [Window(is_warm_up=number < warm_up, readings={}, resident=0) for number in range(warm_up + measured)]


def test_the_first_measured_windows_of_all_starts_have_one_number() -> None:
    rows = align_windows([windows(1, 3), windows(3, 3), windows(0, 2)])
    assert [(row.number, row.is_warm_up, len(row.windows)) for row in rows] == [
        *((1, True, 1), (2, True, 1), (3, True, 2)),
        *((4, False, 3), (5, False, 3), (6, False, 2)),
    ]
    assert all(window.is_warm_up is row.is_warm_up for row in rows for window in row.windows)


def test_without_starts_there_are_no_rows() -> None:
    assert align_windows([]) == []
    assert count_warm_up(windows(2, 0)) == 2
