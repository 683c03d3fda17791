"""Runs that are read at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.store.engine.table_partitions import group_neighbours


@given(st.sets(st.integers(1, 10_000), max_size=60), st.integers(1, 20))
def test_neighbours_are_all_runs_once_and_close_together(numbers: set[int], most: int) -> None:
    groups = list(group_neighbours(numbers, most))
    assert [number for group in groups for number in group] == sorted(numbers)
    assert all(0 < len(group) <= most and group[-1] - group[0] <= 10 * most for group in groups)
