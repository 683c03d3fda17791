import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.drift_map.layout import DriftMap, MapDrift, arrange_drifts, choose_step, compute_move
from tests.service.rules.drift_map.planted import DRIFTS, columns, drift


def arrange(drifts: list[MapDrift], *, max_rows: int = 40, max_bars: int = 1000) -> DriftMap:
    return arrange_drifts(columns(60), drifts, max_rows=max_rows, max_bars=max_bars)


@given(DRIFTS, st.integers(1, 12), st.integers(1, 200))
def test_every_drift_is_counted_in_one_cell_of_its_row_and_column(
    drifts: list[MapDrift], max_rows: int, max_bars: int
) -> None:
    arranged = arrange(drifts, max_rows=max_rows, max_bars=max_bars)
    own = {(row.subject, row.workload, row.case): row for group in arranged.groups for row in group.rows}
    counted = {
        (key, column): cell.n_drifts
        for key, row in (*own.items(), *([(None, arranged.others)] if arranged.others else []))
        for column, cell in row.cells.items()
    }
    expected: dict[object, int] = {}
    for entry in drifts:
        place = entry.row if entry.row in own else None, entry.column
        expected[place] = expected.get(place, 0) + 1
    assert counted == expected
    assert sum(row.n_cases for row in arranged.rows) == len({entry.row for entry in drifts})


@given(DRIFTS, st.integers(1, 12), st.integers(1, 200))
def test_the_map_has_a_bounded_size(drifts: list[MapDrift], max_rows: int, max_bars: int) -> None:
    arranged = arrange(drifts, max_rows=max_rows, max_bars=max_bars)
    own = [row for group in arranged.groups for row in group.rows]
    assert len(own) <= max_rows + 1
    bars = [row.n_bars for row in own]
    assert len(own) <= 2 or sum(bars) - max(bars) <= max_bars


@given(DRIFTS)
def test_a_cell_shows_the_largest_drift_of_each_direction(drifts: list[MapDrift]) -> None:
    for row in arrange(drifts).rows:
        for column, cell in row.cells.items():
            here = [entry for entry in drifts if entry.row == (row.subject, row.workload, row.case)]
            for shown, worse in ((cell.largest_worse, True), (cell.largest_better, False)):
                weights = [entry.weight for entry in here if entry.column == column and entry.worse is worse]
                if row.case:
                    assert (shown.weight if shown else None) == max(weights, default=None)


def test_the_row_of_the_most_important_change_comes_first_and_its_workload_with_it() -> None:
    arranged = arrange(
        [
            drift("small[n=1]", percent=900, event="cheap", importance=1),
            drift("large[n=1]", percent=40, event="dear", importance=9),
            drift("large[n=2]", percent=2, event="other", importance=0.5),
        ]
    )
    assert [row.case for row in arranged.rows] == ["large[n=1]", "large[n=2]", "small[n=1]"]


def test_a_wide_event_leaves_rows_for_others() -> None:
    wide = [drift(f"wide[n={n}]", percent=50 - n, event="wide", importance=100) for n in range(8)]
    arranged = arrange([*wide, drift("narrow", event="narrow", importance=60)], max_rows=3)
    assert {row.case for row in arranged.rows if row.case} == {"wide[n=0]", "narrow", "wide[n=1]"}
    assert arranged.others is not None
    assert arranged.others.n_cases == 6


def test_a_case_that_an_important_event_hardly_moved_does_not_precede_one_that_moved_far() -> None:
    wide = [
        drift("first", percent=300, event="wide", importance=100),
        drift("hardly", percent=0.4, event="wide", importance=100),
    ]
    other = [drift("leading", 3, 50, event="other", importance=40), drift("far", 3, -90, event="other", importance=40)]
    assert [row.case for row in arrange([*wide, *other]).rows] == ["first", "far", "leading", "hardly"]


def test_another_metric_of_the_leading_case_leads_too() -> None:
    slow, fast = (drift("case", 4, metric=name, event="one", importance=8) for name in ("a", "b"))
    arranged = arrange([fast._replace(returned=True), slow, drift("other", 9, event="two", importance=5)], max_rows=2)
    assert [row.case for row in arranged.rows] == ["case", "other"]


def test_one_other_case_gets_its_own_row() -> None:
    arranged = arrange([drift(f"case[n={n}]", n) for n in range(4)], max_rows=3)
    assert arranged.others is None
    assert len(arranged.rows) == 4


def test_an_event_is_led_by_what_its_headline_speaks_of() -> None:
    arranged = arrange(
        [
            drift("suspected", percent=900, certain=False, event="one"),
            drift("better", 3, percent=-99, event="one"),
            drift("worse", 5, percent=10, event="one"),
            drift("came back", 7, percent=70, event="one", returned=True),
        ]
    )
    assert arranged.leading["one"].row[-1] == "better"
    assert arranged.find_column("one") == 3


def test_a_suspected_drift_yields_to_a_certain_one_of_half_its_size() -> None:
    (row,) = arrange([drift("case", percent=100, certain=False), drift("case", percent=50)]).rows
    assert row.cells[0].largest_worse is not None
    assert row.cells[0].largest_worse.certain


@pytest.mark.parametrize(
    ("before", "after", "move"),
    [
        (100, 200, math.log(2)),
        (200, 100, math.log(2)),
        (0, 5, math.log(1e9)),
        (5, 0, math.log(1e9)),
        (0, 0, 0),
        (-5, 5, math.log(1e9)),
        (5e-324, 1e308, math.log(1e9)),
        (1e308, 5e-324, math.log(1e9)),
    ],
)
def test_a_half_is_as_far_as_a_double(before: float, after: float, move: float) -> None:
    assert compute_move(before, after) == pytest.approx(move)


@pytest.mark.parametrize(
    ("percent", "step"), [(0.01, 1), (0.99, 1), (1, 2), (9.9, 2), (10, 3), (99, 3), (100, 4), (-50, 4), (1e7, 4)]
)
def test_a_step_is_ten_times_the_one_before(percent: float, step: int) -> None:
    assert choose_step(drift("case", percent=percent)) == step


def test_the_leading_drift_of_an_event_is_that_of_its_headline() -> None:
    slower = drift("served", event="one", metric="throughput", before=100.0, after=50.0, move=compute_move(100, 50))
    larger = drift("copied", event="one", before=100.0, after=190.0, move=compute_move(100, 190))
    assert arrange([slower, larger]).leading == {"one": larger}
    whole_suite = drift("", event="one", before=0.0, after=2.0, move=0.0)
    assert arrange([whole_suite, slower]).leading == {"one": slower}
