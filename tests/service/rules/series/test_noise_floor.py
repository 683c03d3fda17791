from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.rules.events.importance import compute_terms
from service.rules.same_bytes import ProgramBytes
from service.rules.series.noise_floor import MAX_FLOOR_FAULTS, calibrate_floor, is_below_floor
from service.rules.series.point_order import PathPoint
from service.schemas.certainty import Certainty
from service.schemas.history import Candidate, Drift
from tests.service import made_series

SAME, OTHER = ProgramBytes("a", "s"), ProgramBytes("b", "s")


def point(position: int, value: int, of: ProgramBytes, *, reused: bool = False) -> PathPoint:
    return PathPoint(
        run_id=uuid.uuid4(),
        revision=f"{position:040x}",
        position=position,
        environment="e",
        measured_at=datetime(2026, 1, 1, tzinfo=UTC),
        value=value,
        samples=(value,),
        program_bytes=of,
        is_reused=reused,
    )


def test_runs_of_the_same_bytes_show_by_how_much_a_count_moves_without_a_commit() -> None:
    points = [point(0, 7_229, SAME), point(1, 7_230, SAME), point(2, 9_000, OTHER)]
    assert calibrate_floor(points) == 1


def test_without_two_such_runs_there_is_no_floor() -> None:
    assert calibrate_floor([point(0, 5, SAME), point(1, 9, OTHER), point(2, 7, ProgramBytes())]) is None
    assert calibrate_floor([point(0, 5, SAME), point(1, 5, SAME, reused=True)]) is None


def test_another_environment_or_another_host_is_no_floor() -> None:
    apart = [point(0, 5, SAME), replace(point(1, 500, SAME), environment="other")]
    assert calibrate_floor(apart) is None
    assert calibrate_floor([point(0, 5, SAME), point(1, 50_000, SAME)]) == MAX_FLOOR_FAULTS


def drift(before: int, after: int, **changes: object) -> Drift:
    made = made_series.drift(1, made_series.point(0, before), made_series.point(1, after))
    return made.model_copy(update=changes)


@pytest.mark.parametrize(
    ("change", "floor", "candidates", "below"),
    [
        (1, None, 5, True),  # nobody ran the same bytes twice, and any of five commits can have done it
        (1, None, 1, False),  # one commit alone is a reason for one more fault
        (2, None, 5, False),
        (2, 2, 1, True),  # runs with the same bytes differ by two
        (3, 2, 1, False),
        (1, 0, 5, False),  # and here they never differ
    ],
)
def test_what_runs_of_the_same_bytes_can_differ_by_is_below_the_floor(
    change: int, floor: int | None, candidates: int, below: bool
) -> None:
    commits = [Candidate(commit=f"{number:040x}", title="", author="Ada") for number in range(candidates)]
    made = drift(7_229, 7_229 + change, floor=floor, candidates=commits)
    assert is_below_floor([made], compute_terms([made], proven=False).certainty) is below


def test_one_drift_above_its_floor_lifts_the_event() -> None:
    small, large = drift(100, 101, floor=1), drift(100, 150, floor=1)
    assert is_below_floor([small], Certainty.SINGLE_COMMIT)
    assert not is_below_floor([small, large], Certainty.SINGLE_COMMIT)
