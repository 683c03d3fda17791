import re

from service.rules.series.sparkline import HEIGHT, MAX_MARKS, WIDTH, Flag, draw_sparkline


def points(path: str) -> list[tuple[float, float]]:
    return [tuple(map(float, pair.split(","))) for pair in path.removeprefix("M").split()]  # type: ignore[misc]


def tips(marks: str) -> list[float]:
    """Return how far to the right each triangle stands."""
    return [float(x) for x in re.findall(r"M([0-9.]+),", marks)]


def test_nothing_draws_nothing() -> None:
    assert draw_sparkline([]) is None


def test_a_constant_series_is_a_line_in_the_middle() -> None:
    line = draw_sparkline([7, 7, 7])
    assert line
    assert {y for _, y in points(line.line)} == {HEIGHT / 2}


def test_one_value_is_a_dot_in_the_middle() -> None:
    line = draw_sparkline([7])
    assert line
    assert line.last == (WIDTH / 2, HEIGHT / 2)


def test_more_is_higher_and_stays_inside() -> None:
    line = draw_sparkline([1, 5, 3], [Flag(1, True), Flag(2, False)])
    assert line
    (_, low), (_, top), (_, middle) = points(line.line)
    assert 0 < top < middle < low < HEIGHT
    (worse,), (better,) = tips(line.worse), tips(line.better)
    assert (worse, better) == (WIDTH / 2, line.last[0])


def test_a_single_odd_point_among_ten_thousand_is_kept() -> None:
    line = draw_sparkline([2239] * 6000 + [2240] + [2239] * 3999)
    assert line
    drawn = points(line.line)
    assert len(drawn) < 200
    assert len({y for _, y in drawn}) == 2


def test_of_marks_that_cover_each_other_the_newest_of_each_direction_is_kept() -> None:
    line = draw_sparkline(list(range(1000)), [Flag(500, True), Flag(501, True), Flag(502, False), Flag(900, True)])
    assert line is not None
    assert (len(tips(line.worse)), len(tips(line.better)), line.flagged) == (2, 1, 4)
    alone = draw_sparkline(list(range(1000)), [Flag(501, True), Flag(900, True)])
    assert alone is not None
    assert line.worse == alone.worse
    crowded = draw_sparkline(list(range(1000)), [Flag(index, index % 2 == 0) for index in range(1000)])
    assert crowded is not None
    assert (len(tips(crowded.worse)), len(tips(crowded.better)), crowded.flagged) == (MAX_MARKS, MAX_MARKS, 1000)
    assert tips(crowded.better)[-1] == crowded.last[0]


def test_a_suspicion_is_drawn_apart_from_what_is_certain() -> None:
    line = draw_sparkline([1, 5, 3, 2], [Flag(1, True), Flag(2, False, False), Flag(3, True, False)])
    assert line is not None
    assert [len(tips(marks)) for marks in (line.worse, line.better)] == [1, 0]
    assert [len(tips(marks)) for marks in (line.suspected_worse, line.suspected_better)] == [1, 1]
    assert line.flagged == 3
