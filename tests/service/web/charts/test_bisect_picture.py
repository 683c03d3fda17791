"""How a search is drawn."""

from __future__ import annotations

import service.app  # noqa: F401 - the pages are imported in its order
from service.rules.bisect.graph import Graph, Node
from service.web.charts.bisect_picture import MeasuredSide, MeasurementMark, NamedCulprit, draw_search


def line(length: int) -> Graph:
    nodes = [Node(commit=f"c{place}", parents=(f"c{place - 1}",)) for place in range(1, length + 1)]
    return Graph("c0", f"c{length}", nodes)


def mark(commit: str, side: MeasuredSide) -> MeasurementMark:
    return MeasurementMark(commit=commit, side=side, number="1", label=commit)


def test_each_row_shows_what_was_left_after_it() -> None:
    marks = [
        mark("c0", MeasuredSide.BEFORE),
        mark("c100", MeasuredSide.AFTER),
        mark("c50", MeasuredSide.AFTER),
        mark("c25", MeasuredSide.FAILED),
        mark("c24", MeasuredSide.BEFORE),
    ]
    drawn = draw_search(line(100), marks, [NamedCulprit("c50", "c49", "the one")])
    assert [round(high - low) for low, high, _ in drawn.remaining_ranges] == [1022, 1022, 511, 511, 266]
    assert [y for _, _, y in drawn.remaining_ranges] == sorted(y for _, _, y in drawn.remaining_ranges)
    (flag,) = drawn.flags
    assert flag.x == drawn.rows[2].x, "the culprit's line goes through its own measurement"


def test_shapes_differ_for_whoever_sees_no_colours() -> None:
    drawn = draw_search(line(3), [mark("c1", side) for side in MeasuredSide], [])
    verbs = {"".join(letter for letter in row.shape if letter.isalpha()) for row in drawn.rows}
    assert len(verbs) == len(MeasuredSide)


def test_what_was_merged_is_drawn_beside_the_line() -> None:
    nodes = [
        Node(commit="a", parents=("g",)),
        Node(commit="side", parents=("a",)),
        Node(commit="b", parents=("a",)),
        Node(commit="merge", parents=("b", "side")),
    ]
    drawn = draw_search(Graph("g", "merge", nodes), [mark("side", MeasuredSide.AFTER)], [])
    assert drawn.branches.count("L") == 2, "from where it left, and to where it was merged"
    assert draw_search(line(3), [], []).branches == ""


def test_hundreds_of_runs_still_fit() -> None:
    drawn = draw_search(line(1000), [mark(f"c{place}", MeasuredSide.BEFORE) for place in range(400)], [])
    assert drawn.height < 1000
    assert not drawn.numbered
    assert drawn.ticks == ""
