from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime

from service.rules.same_bytes import ProgramBytes
from service.rules.series.noise_floor import MAX_FLOOR_FAULTS, calibrate_floor
from service.rules.series.point_order import PathPoint

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
