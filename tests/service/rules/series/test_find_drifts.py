from __future__ import annotations

import random
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import get_metric
from runner.contract.level import compute_median
from service.rules.detect.level_change import format_change
from service.rules.relative_change import compute_percent_change
from service.rules.series.build_drifts import make_drift_ids
from service.rules.series.find_drifts import SeriesDrift, find_drifts, get_direction, is_exact_count
from service.rules.series.point_order import PathPoint, arrange_trend
from service.schemas.history import Cause, Direction, SeriesHead

START = datetime(2025, 1, 1, tzinfo=UTC)


def points(*described: str) -> list[PathPoint]:
    """Points as ``"A3=100"``: environment, revision, level; measured in the given order."""
    made = []
    for at, text in enumerate(described):
        place, _, value = text.partition("=")
        made.append(
            PathPoint(
                run_id=uuid.UUID(int=at + 1),
                revision=f"r{place[1:]}",
                position=int(place[1:]),
                environment=place[0],
                measured_at=START + timedelta(minutes=at),
                value=int(value),
                samples=(int(value), int(value)),
            )
        )
    return made


def drifts_of(*described: str) -> list[SeriesDrift]:
    return find_drifts(arrange_trend(points(*described)), is_exact=True)


def found_drifts(*described: str) -> list[tuple[str, str, Cause]]:
    return [
        (
            f"{drift.before.environment}{drift.before.position}={drift.change.before}",
            f"{drift.after.environment}{drift.after.position}={drift.change.after}",
            drift.cause,
        )
        for drift in drifts_of(*described)
    ]


def test_one_fault_more_is_blamed_on_the_commit() -> None:
    (drift,) = drifts_of("A1=100", "A2=100", "A4=101", "A5=101")
    assert (drift.before.position, drift.after.position, drift.cause) == (2, 4, Cause.COMMIT)
    assert (drift.after_position, drift.up_to_position) == (2, 4)
    assert (len(drift.old_points), len(drift.new_points), drift.spread) == (2, 2, 0)


def test_another_level_at_the_same_revision_is_blamed_on_the_configuration() -> None:
    assert found_drifts("A1=100", "A2=100", "B2=150", "B3=150") == [("A2=100", "B2=150", Cause.CONFIG)]


def test_where_both_changed_both_are_blamed() -> None:
    assert found_drifts("A1=100", "A2=100", "B3=150", "B4=150") == [("A2=100", "B3=150", Cause.COMMIT_AND_CONFIG)]


def test_where_nothing_changed_the_cause_is_unknown() -> None:
    assert found_drifts("A1=100", "A1=101") == [("A1=100", "A1=101", Cause.UNKNOWN)]


def test_an_outlier_of_the_first_commit_is_no_change() -> None:
    assert found_drifts("A1=188", "A1=148", *(f"A{number}=148" for number in range(2, 12))) == []
    (drift,) = drifts_of("A1=188", *(f"A{number}=148" for number in range(2, 12)))
    assert drift.change.wants_rerun


def test_a_configuration_change_does_not_hide_the_commit_next_to_it() -> None:
    assert found_drifts("A1=100", "A2=100", "B2=150", "B3=151") == [
        ("A2=100", "B2=150", Cause.CONFIG),
        ("B2=150", "B3=151", Cause.COMMIT),
    ]


def test_a_zero_baseline() -> None:
    (drift,) = drifts_of("A1=0", "A2=3")
    assert compute_percent_change(drift.change.after - drift.change.before, drift.change.before) is None
    assert (drift.change.before, drift.change.after) == (0, 3)


def test_what_two_environments_saw_is_one_drift() -> None:
    assert found_drifts("A1=100", "A2=110", "A3=110", "B1=200", "B2=210", "B3=210") == [
        ("A1=100", "A2=110", Cause.COMMIT),
        ("A3=110", "B3=210", Cause.CONFIG),
    ]


def test_a_drift_that_is_only_seen_beside_the_path_is_told_too() -> None:
    # The newer environment was measured at old revisions as well, finer than the older one.
    older, newer = ("A1=100", "A2=100", "A6=100"), ("B1=200", "B2=200", "B3=201", "B4=201", "B5=201", "B6=201")
    assert found_drifts(*older, *newer) == [("A6=100", "B6=201", Cause.CONFIG), ("B2=200", "B3=201", Cause.COMMIT)]


def test_a_configuration_change_that_is_taken_back_is_two_drifts() -> None:
    before = [f"A{position}=100" for position in range(1, 11)]
    other = [f"B{position}=150" for position in range(10, 21)]
    after = [f"A{position}=100" for position in range(20, 23)]
    assert found_drifts(*before, *other, *after) == [
        ("A10=100", "B10=150", Cause.CONFIG),
        ("B20=150", "A20=100", Cause.CONFIG),
    ]


@pytest.mark.parametrize(("better", "expected"), [("lower", Direction.REGRESSION), ("higher", Direction.IMPROVEMENT)])
def test_what_is_better_depends_on_the_metric(better: object, expected: Direction) -> None:
    (drift,) = drifts_of("A1=100", "A2=101")
    assert get_direction(drift, better) is expected  # type: ignore[arg-type]


def test_names_are_unique_and_stay_while_the_series_goes_on() -> None:
    described = ("A1=100", "A1=100", "A2=103", "A3=103", "B3=104", "B4=104")
    names = make_drift_ids(1, drifts_of(*described))
    assert len(set(names)) == len(names) == 2
    assert make_drift_ids(1, drifts_of(*described, "B5=104", "B6=105"))[:2] == names
    assert not set(make_drift_ids(2, drifts_of(*described))) & set(names)


@pytest.mark.parametrize(
    ("before", "after", "written"), [(21624, 105240, "21,624 → 105,240"), (0.1 + 0.2, 0.5, "0.3 → 0.5")]
)
def test_an_expected_step_is_written_like_any_other(before: float, after: float, written: str) -> None:
    measured = [replace(point, value=before if at < 5 else after) for at, point in enumerate(points(*["A1=1"] * 10))]
    baselines = {measured[5].run_id: (before, after)}
    (drift,) = find_drifts(arrange_trend(measured), is_exact=True, baselines=baselines)
    assert drift.change.evidence == f"{written}: expected, so later runs are judged from this level"


def test_a_decision_does_not_replace_the_evidence_of_the_step() -> None:
    measured = points(*["A1=100"] * 6, *["A2=140"] * 6)
    (found,) = find_drifts(arrange_trend(measured), is_exact=True)
    assert not found.change.wants_rerun
    (drift,) = find_drifts(arrange_trend(measured), is_exact=True, baselines={measured[6].run_id: (100, 140)})
    assert drift.change.rule == "expected"
    assert drift.change.evidence == f"{found.change.evidence}; it is expected, so later runs are judged from this level"


@given(st.integers(3, 20), st.integers(2, 19), st.integers(-100, 100).filter(bool))
def test_a_step_of_an_exact_count_is_told_with_its_commit(length: int, place: int, step: int) -> None:
    place = min(place, length - 1)
    described = [f"A{position}={100 if position < place else 100 + step}" for position in range(length)]
    assert found_drifts(*described) == [(f"A{place - 1}=100", f"A{place}={100 + step}", Cause.COMMIT)]


@given(st.integers(3, 20), st.integers(2, 19), st.integers(1, 100))
def test_a_configuration_change_alone_is_never_blamed_on_a_commit(length: int, anchor: int, step: int) -> None:
    anchor = min(anchor, length)
    old = [f"A{position}=100" for position in range(1, anchor + 1)]
    new = [f"B{position}={100 + step}" for position in range(anchor, length + 1)]
    assert [cause for _, _, cause in found_drifts(*old, *new)] == [Cause.CONFIG]


@pytest.mark.parametrize(
    ("name", "is_exact"), [("minor-faults", True), ("context-switches", False), ("user-time", False)]
)
def test_a_count_that_repeats_by_chance_only_is_not_exact(name: str, is_exact: bool) -> None:
    entry = get_metric(name)
    head = SeriesHead(
        id=1,
        subject="demo",
        host="ada",
        case="copy",
        workload="copy",
        definition="d",
        parameters={},
        metric=name,
        title=entry.title,
        unit=entry.unit,
        kind=entry.kind,
        better=entry.better,
        judged=True,
    )
    assert is_exact_count(head) is is_exact


def test_what_is_found_about_other_commits_does_not_change_when_a_step_is_declared_expected() -> None:
    chance = random.Random(4)
    levels = [1000] * 30 + [1009] * 25 + [1040] * 25 + [1033] * 30 + [1060] * 20
    path = points(*(f"A{position}={round(level + chance.gauss(0, 3))}" for position, level in enumerate(levels)))
    trend = arrange_trend(path)
    drifts = find_drifts(trend, is_exact=False)
    assert len(drifts) >= 3
    for expected in drifts:
        baselines = {expected.after.run_id: (expected.change.before, expected.change.after)}
        drifts_later = find_drifts(trend, is_exact=False, baselines=baselines)
        assert [drift.change for drift in drifts_later if drift.change.rule != "expected"] == [
            drift.change for drift in drifts if drift is not expected
        ]
        (declared,) = [drift for drift in drifts_later if drift.change.rule == "expected"]
        assert declared.after.run_id == expected.after.run_id
        assert (declared.outer_revisions, declared.cause) == (expected.outer_revisions, expected.cause)
    assert any(drift.change.low < drift.change.high for drift in drifts), "the place of one is uncertain"


def test_a_level_has_one_value_after_the_change_that_leads_to_it_and_before_the_next() -> None:
    chance = random.Random(7)
    levels = [1000] * 60 + [1101] * 40 + [1100] * 100 + [1200] * 60
    values = [round(level + chance.gauss(0, 2)) for level in levels]
    path = points(*(f"A{position}={value}" for position, value in enumerate(values)))
    first, second = find_drifts(arrange_trend(path), is_exact=False)
    assert first.change.after == second.change.before == compute_median(values[60:200])
    assert first.change.evidence.startswith(f"{format_change(first.change.before, first.change.after)}: a step of")


def test_a_level_that_wanders_far_is_that_of_the_runs_next_to_the_step() -> None:
    chance = random.Random(7)
    levels = [1000] * 60 + [1020 + 2 * index for index in range(100)]
    path = points(*(f"A{at}={round(level + chance.gauss(0, 1))}" for at, level in enumerate(levels)))
    for drift in find_drifts(arrange_trend(path), is_exact=False):
        assert (drift.change.after > drift.change.before) == drift.goes_up
        assert drift.change.before < drift.change.after


@given(st.lists(st.integers(0, 3), min_size=4, max_size=25), st.integers(0, 30))
def test_of_an_exact_count_an_expected_step_moves_no_other(values: list[int], number: int) -> None:
    trend = arrange_trend(points(*(f"A{position}={100 + value}" for position, value in enumerate(values))))
    drifts = find_drifts(trend, is_exact=True)
    expected = drifts[number % len(drifts)] if drifts else None
    if expected is None or expected.change.rule == "ramp":
        return
    baselines = {expected.after.run_id: (expected.change.before, expected.change.after)}
    earlier = [drift.change for drift in drifts if drift.change.high < expected.change.index]
    drifts_later = find_drifts(trend, is_exact=True, baselines=baselines)
    assert [drift.change for drift in drifts_later][: len(earlier)] == earlier
