"""A shift of a suite is judged by the newest points, where those decide as all of them would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.rules.series import suite_shift_drift
from service.rules.series.point_order import PathPoint, arrange_trend

START = datetime(2025, 1, 1, tzinfo=UTC)
FEW = 3


def point(number: int, position: int, minute: int, environment: str) -> PathPoint:
    return PathPoint(
        run_id=UUID(int=number),
        revision=f"{position:040x}",
        position=position,
        environment=environment,
        measured_at=START + timedelta(minutes=minute),
        value=number,
        samples=(number,),
    )


@st.composite
def series(draw: st.DrawFn) -> list[PathPoint]:
    """Points in few environments: commits are measured in any order, some of them again."""
    count = draw(st.integers(2, 14))
    return [
        point(number, draw(st.integers(0, 9)), draw(st.integers(0, 20)), draw(st.sampled_from("aaab")))
        for number in range(count)
    ]


@settings(max_examples=500, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(series(), st.integers(0, 9), st.integers(-1, 9))
def test_what_shows_enough_decides_as_the_whole_series(
    monkeypatch: pytest.MonkeyPatch, points: list[PathPoint], start: int, last_change: int
) -> None:
    monkeypatch.setattr(suite_shift_drift, "MAX_HISTORY_POINTS", FEW)
    recent, whole = arrange_trend(one for one in points if one.position >= start), arrange_trend(points)
    if not suite_shift_drift.has_enough_points(recent, start, last_change):
        return
    assert recent.path == whole.path[len(whole.path) - len(recent.path) :]
    if len(recent.path) > 1:
        histories = [
            suite_shift_drift.select_points_before(trend.path, last_change)[-FEW:] for trend in (recent, whole)
        ]
        assert histories[0] == histories[1]


def test_a_long_stretch_in_one_environment_shows_enough() -> None:
    stretch = [
        point(number, number, number, "a") for number in range(10, 10 + suite_shift_drift.MAX_HISTORY_POINTS + 1)
    ]
    assert suite_shift_drift.has_enough_points(arrange_trend(stretch), 10, -1)
    assert not suite_shift_drift.has_enough_points(arrange_trend(stretch[1:]), 11, -1)
    assert suite_shift_drift.has_enough_points(arrange_trend(stretch[1:]), 11, 11)
    elsewhere = [*stretch, point(1, 12, 500, "b")]
    assert not suite_shift_drift.has_enough_points(arrange_trend(elsewhere), 10, -1)
