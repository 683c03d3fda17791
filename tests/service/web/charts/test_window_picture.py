"""The picture of a server's windows."""

from runner.contract.report import Reading, Sample, Window
from service.web.charts.window_picture import draw_windows


def window(faults: int, *, operations: float | None = 1000, is_warm_up: bool = False, growth: int = 0) -> Window:
    readings = {"minor-faults": faults, "major-faults": 0, "resident-growth": growth}
    return Window(
        is_warm_up=is_warm_up,
        readings={name: Reading(value=value) for name, value in readings.items()},
        operations=operations,
        resident=1 << 20,
    )


def start(*windows: Window) -> Sample:
    return Sample(readings={}, windows=windows)


def test_a_program_that_runs_once_has_no_windows() -> None:
    assert draw_windows([Sample(readings={})], {}) is None


def test_each_start_is_a_line_and_each_window_a_row() -> None:
    warm = window(2000, is_warm_up=True)
    picture = draw_windows([start(warm, window(1000)), start(warm, window(1500))], {})
    assert picture
    assert (len(picture.paths), len(picture.dots), picture.highest) == (2, 4, 2)
    assert [row.rate for row in picture.rows] == [(2, 2), (1, 1.5)]
    assert picture.unit == "faults/operation"


def test_more_faults_are_drawn_higher() -> None:
    picture = draw_windows([start(window(2000), window(1000))], {})
    assert picture
    assert picture.dots[0][1] < picture.dots[1][1]


def test_windows_are_aligned_by_the_first_measured_one() -> None:
    warm = window(9000, is_warm_up=True)
    picture = draw_windows([start(warm, window(1000), window(2000)), start(warm, warm, window(1500), window(2000))], {})
    assert picture
    assert picture.warm_up == 500
    assert [(row.number, row.is_warm_up, row.rate) for row in picture.rows] == [
        (1, True, (9, 9)),
        (2, True, (9, 9)),
        (3, False, (1, 1.5)),
        (4, False, (2, 2)),
    ]
    assert [x for x, _ in picture.dots] == [375, 625, 875, 125, 375, 625, 875]


def test_windows_without_operations_show_faults() -> None:
    picture = draw_windows([start(window(500, operations=None))], {})
    assert picture
    assert (picture.unit, picture.highest, picture.rows[0].rate) == ("faults", 500, None)


def test_windows_without_faults_are_drawn_at_the_bottom() -> None:
    picture = draw_windows([start(window(0), window(0))], {})
    assert picture
    assert picture.dots[0][1] == picture.dots[1][1] > 100


def test_a_server_that_still_faults_is_told() -> None:
    picture = draw_windows([start(window(1400), window(1400))], {})
    assert picture
    assert picture.still_faulting.startswith("still 1.4 faults per operation after 2 windows")
