from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from service.rules.series.point_order import PathPoint, Points, arrange_trend

START = datetime(2025, 1, 1, tzinfo=UTC)


def point(environment: str, position: int, at: int, value: int = 100) -> PathPoint:
    return PathPoint(
        run_id=uuid.uuid5(uuid.NAMESPACE_OID, f"{environment}{position}@{at}"),
        revision=f"r{position}",
        position=position,
        environment=environment,
        measured_at=START + timedelta(minutes=at),
        value=value,
        samples=(value, value),
    )


def measured(*visits: str) -> list[PathPoint]:
    """Measure in the given order: ``"A1-8"`` is environment A at the revisions 1 to 8."""
    points: list[PathPoint] = []
    for visit in visits:
        first, _, last = visit[1:].partition("-")
        for position in range(int(first), int(last or first) + 1):
            points.append(point(visit[0], position, at=len(points)))
    return points


def as_text(sequence: Points) -> str:
    return " ".join(f"{entry.environment}{entry.position}" for entry in sequence)


def path(*visits: str) -> str:
    return as_text(arrange_trend(measured(*visits)).path)


def test_the_measured_points_of_all_sequences_count_once() -> None:
    points = measured("A1-8", "B3-8", "C5-6")
    points[2] = replace(points[2], is_reused=True)
    counted = arrange_trend(points).measured
    assert sorted(point.run_id for point in counted) == sorted({point.run_id for point in points} - {points[2].run_id})


def test_no_points() -> None:
    assert arrange_trend([]).path == ()


def test_one_environment_is_in_the_order_of_the_commits_however_it_was_measured() -> None:
    assert path("A5-6", "A1", "A3") == "A1 A3 A5 A6"


def test_a_new_environment_is_joined_at_the_anchor() -> None:
    assert path("A1-3", "B3-5") == "A1 A2 A3 B3 B4 B5"


def test_the_newest_revision_that_both_measured_is_the_anchor() -> None:
    trend = arrange_trend(measured("A1-3", "B1-5"))
    assert as_text(trend.path) == "A1 A2 A3 B3 B4 B5"
    assert [as_text(sequence) for sequence in trend.points_beside] == ["B1 B2 B3 B4 B5"]


def test_three_environments() -> None:
    assert path("A1-3", "B3-5", "C5-6") == "A1 A2 A3 B3 B4 B5 C5 C6"


def test_an_environment_that_comes_back() -> None:
    assert path("A1-3", "B3-5", "A5-7") == "A1 A2 A3 B3 B4 B5 A5 A6 A7"


def test_a_glance_back_from_a_new_environment_does_not_cut_the_trend_off() -> None:
    trend = arrange_trend(measured("A1-6", "B3"))
    assert as_text(trend.path) == "A1 A2 A3 A4 A5 A6"
    assert [as_text(sequence) for sequence in trend.points_beside] == ["A1 A2 A3 B3", "B3"]


def test_environments_that_share_no_revision_follow_each_other() -> None:
    assert path("A1-3", "B4-5") == "A1 A2 A3 B4 B5"
    assert path("B4-5", "A1-3") == "A1 A2 A3 B4 B5"


def test_a_revision_measured_again_is_another_point() -> None:
    points = [point("A", 1, 0), point("A", 2, 1), point("A", 1, 2)]
    assert as_text(arrange_trend(points).path) == "A1 A1 A2"


any_points = st.lists(
    st.builds(point, st.sampled_from("ABC"), st.integers(1, 8), st.integers(0, 20)),
    unique_by=lambda entry: entry.run_id,
    max_size=25,
)


@given(any_points, st.randoms(use_true_random=False))
def test_the_order_of_arrival_has_no_say(points: list[PathPoint], random: object) -> None:
    shuffled = list(points)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert arrange_trend(shuffled) == arrange_trend(points)


@given(any_points)
def test_the_path_goes_forward_and_nothing_is_lost_or_told_twice(points: list[PathPoint]) -> None:
    trend = arrange_trend(points)
    assert all(before.position <= after.position for before, after in pairwise(trend.path))
    assert len(set(trend.path)) == len(trend.path)
    assert {entry for sequence in (trend.path, *trend.points_beside) for entry in sequence} == set(points)


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=5),
)
def test_on_a_path_with_anchors_neighbours_differ_in_one_thing_only(lengths: list[int]) -> None:
    visits, start = [], 1
    for environment, length in zip("ABCDE", lengths, strict=False):
        visits.append(f"{environment}{start}-{start + length}")
        start += length
    for before, after in pairwise(arrange_trend(measured(*visits)).path):
        assert (before.revision != after.revision) != (before.environment != after.environment)


@given(any_points)
def test_the_path_ends_at_the_newest_revision(points: list[PathPoint]) -> None:
    if points:
        assert arrange_trend(points).path[-1].position == max(entry.position for entry in points)
