import struct
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.schemas.history import SeriesDetail
from service.web.charts.palette import palette
from service.web.charts.picture import View, draw
from service.web.charts.plot import Window
from service.web.charts.trend import chart
from tests.service import made_series


def texts(series: SeriesDetail, heading: str = "Minor faults", view: View | None = None) -> list[str]:
    """Draw a series; return the texts of the picture."""
    view = view or View()
    picture = draw(chart(series, str, view.window), heading, view, "svg")
    return ["".join(node.itertext()).strip() for node in ElementTree.fromstring(picture).iter() if _is_text(node)]


def _is_text(node: ElementTree.Element) -> bool:
    return node.tag.endswith("}text")


def test_a_picture_says_what_the_chart_of_the_page_says() -> None:
    drawn = texts(made_series.faults(), "Minor faults of copy_service on lab-1")
    assert "Minor faults of copy_service on lab-1" in drawn
    assert {flag["label"] for flag in chart(made_series.faults(), str)["flags"]} <= set(drawn)
    assert "variable.MALLOC_CONF +1" in drawn
    assert made_series.commit(0)[:7] in drawn
    assert "faults" in drawn


@pytest.mark.parametrize("heading", ["$x^$ of $\\frac{1$", "</text><script>alert(1)</script>", "頁面錯誤", "%d {} \\n"])
def test_a_name_is_drawn_as_it_is(heading: str) -> None:
    assert heading in texts(made_series.faults(), heading)


def test_a_window_shows_the_commits_that_are_in_it() -> None:
    drawn = texts(made_series.faults(), view=View(window=Window(3.5, 6.5)))
    assert [made_series.commit(number)[:7] in drawn for number in (3, 4, 6, 7)] == [False, True, True, False]


def test_by_time_the_axis_has_dates() -> None:
    assert "Commit time (UTC)" in texts(made_series.faults(), view=View(by_time=True))


@pytest.mark.parametrize("dark", [False, True])
def test_the_colours_are_those_of_the_pages(dark: bool) -> None:
    picture = draw(chart(made_series.faults(), str), "Minor faults", View(dark=dark), "svg").decode()
    assert palette(dark=False) != palette(dark=True)
    for name in ("card", "plot", "level", "worse", "better"):
        assert palette(dark=dark)[name] in picture


def test_a_png_has_two_pixels_for_each_of_the_picture() -> None:
    picture = draw(chart(made_series.faults(), str), "Minor faults", View(width=600, height=300), "png")
    assert struct.unpack(">II", picture[16:24]) == (1200, 600)


@pytest.mark.parametrize("series", [made_series.uncounted(), made_series.majors(), made_series.throughput()])
def test_every_kind_of_series_is_drawn(series: SeriesDetail) -> None:
    for logarithmic in (False, True):
        assert texts(series, view=View(logarithmic=logarithmic))


def test_overlaid_series_are_named_and_have_an_axis_of_their_unit() -> None:
    drawing = chart(made_series.faults(), str, None, [made_series.throughput()])
    picture = draw(drawing, "Minor faults", View(), "svg").decode()
    assert drawing["others"][0]["title"] in picture
    assert f">{drawing['others'][0]['unit']}<" in picture


def test_the_same_chart_is_the_same_picture() -> None:
    first, second = (draw(chart(made_series.faults(), str), "Minor faults", View(), "svg") for _ in range(2))
    assert first == second


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.floats(0, 1e300, allow_nan=False) | st.integers(0, 2**70), max_size=5),
    start=st.floats(-1e15, 1e15),
    length=st.floats(1e-9, 1e15),
    by_time=st.booleans(),
)
def test_no_values_and_no_window_break_a_picture(
    values: list[float], start: float, length: float, by_time: bool
) -> None:
    points = [made_series.point(number, value) for number, value in enumerate(values)]
    series = made_series.faults().model_copy(update={"points": points, "drifts": [], "changes": [], "failures": []})
    view = View(window=Window(start, start + length, by_time), by_time=by_time, logarithmic=True, width=240, height=240)
    assert texts(series, view=view)
