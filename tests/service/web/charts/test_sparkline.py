from service.rules.series.outline import MARKS, draw_outline
from service.web.charts.sparkline import HEIGHT, WIDTH, sparkline


def points(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in path.removeprefix("M").split()]  # type: ignore[misc]


def test_nothing_draws_nothing() -> None:
    assert sparkline(draw_outline([])) is None


def test_a_constant_series_is_a_line_in_the_middle() -> None:
    line = sparkline(draw_outline([7, 7, 7]))
    assert line
    assert {y for _, y in points(line.path)} == {HEIGHT / 2}


def test_one_value_is_a_dot_in_the_middle() -> None:
    line = sparkline(draw_outline([7]))
    assert line
    assert line.last == (WIDTH / 2, HEIGHT / 2)


def test_more_is_higher_and_stays_inside() -> None:
    line = sparkline(draw_outline([1, 5, 3], [(1, True), (2, False)]))
    assert line
    (_, low), (_, top), (_, middle) = points(line.path)
    assert 0 < top < middle < low < HEIGHT
    assert [mark.worse for mark in line.marks] == [True, False]


def test_a_single_odd_point_among_ten_thousand_is_kept() -> None:
    line = sparkline(draw_outline([2239] * 6000 + [2240] + [2239] * 3999))
    assert line
    drawn = points(line.path)
    assert len(drawn) < 200
    assert len({y for _, y in drawn}) == 2


def test_of_marks_that_cover_each_other_the_newest_of_each_direction_is_kept() -> None:
    shape = draw_outline(list(range(1000)), [(500, True), (501, True), (502, False), (900, True)])
    assert shape is not None
    assert [(index, worse) for index, _, worse in shape.flagged] == [(501, True), (502, False), (900, True)]
    crowded = draw_outline(list(range(1000)), [(index, index % 2 == 0) for index in range(1000)])
    assert crowded is not None
    assert len(crowded.flagged) == 2 * MARKS
    assert crowded.flagged[-1][0] == 999
