"""Blame, comparisons and searches between runs with the same bytes."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta

import pytest

from runner.contract import ComparisonRequest, Report, Verdict
from runner.contract.mapped_files import CacheState, MappedFile, ProgramFiles, UncertainFaults
from service.rules.comparison.comparison_verdict import decide_comparison
from service.rules.page_cache_effect import may_be_due_to_page_cache
from service.rules.same_bytes import (
    ProgramBytes,
    list_system_file_settings,
    read_program_bytes,
)
from service.rules.series.find_drifts import find_drifts
from service.rules.series.point_order import PathPoint, arrange_trend
from service.schemas.history import Cause
from tests.service import reports

A, B = ProgramBytes("a" * 16, "1" * 16), ProgramBytes("b" * 16, "1" * 16)
UPGRADED = ProgramBytes("a" * 16, "2" * 16)
START = datetime(2025, 1, 1, tzinfo=UTC)
SESSION = uuid.UUID(int=1)


def files(of: ProgramBytes) -> ProgramFiles:
    library = MappedFile(path="/lib/libc.so.6", in_build=False, digest=of.system, cache=CacheState.PREPARED)
    uncertain = UncertainFaults(lowest=of.min_uncertain_faults, highest=of.max_uncertain_faults)
    return ProgramFiles(mapped=(library,), own_bytes=of.own, system_bytes=of.system, uncertain_faults=uncertain)


def causes(*counts: tuple[int, ProgramBytes], environments: str = "") -> list[Cause]:
    points = [
        PathPoint(
            run_id=uuid.UUID(int=place + 1),
            revision=f"r{place}",
            position=place,
            environment=environments[place : place + 1] or "A",
            measured_at=START + timedelta(minutes=place),
            value=value,
            samples=(value, value),
            program_bytes=of,
        )
        for place, (value, of) in enumerate(counts)
    ]
    return [shift.cause for shift in find_drifts(arrange_trend(points), is_exact=True)]


@pytest.mark.parametrize(
    ("before", "after", "cause"),
    [
        (A, B, Cause.COMMIT),
        (A, A, Cause.UNKNOWN),
        (A, UPGRADED, Cause.CONFIG),
        (ProgramBytes(), ProgramBytes(), Cause.COMMIT),
        (ProgramBytes(A.own), ProgramBytes(A.own), Cause.UNKNOWN),
        (A, ProgramBytes(), Cause.COMMIT),
    ],
)
def test_a_commit_that_changes_no_byte_is_not_blamed(before: ProgramBytes, after: ProgramBytes, cause: Cause) -> None:
    assert causes((100, before), (100, before), (105, after), (105, after)) == [cause]


def test_the_same_bytes_in_another_environment_leave_the_configuration_to_blame() -> None:
    assert causes((100, A), (105, A), environments="AB") == [Cause.CONFIG]
    assert causes((100, A), (105, B), environments="AB") == [Cause.COMMIT_AND_CONFIG]


def uncertain(least: int, most: int, own: str = "a") -> ProgramBytes:
    return ProgramBytes(own * 16, "1" * 16, least, most)


@pytest.mark.parametrize(
    ("change", "before", "after", "drifts"),
    [
        (3, uncertain(20, 23), uncertain(20, 23, "b"), 0),
        (4, uncertain(20, 23), uncertain(20, 23, "b"), 1),
        (-3, uncertain(20, 23), uncertain(20, 23, "b"), 0),
        (3, uncertain(20, 20), uncertain(23, 23, "b"), 1),
        (1000, uncertain(100, 100), uncertain(1100, 1100, "b"), 1),
        (1000, uncertain(500, 8000), uncertain(1500, 9000, "b"), 1),
        (1, uncertain(0, 0), uncertain(0, 0, "b"), 1),
    ],
)
def test_a_change_is_no_drift_only_if_renewing_the_page_cache_was_measured_to_move_as_much(
    change: int, before: ProgramBytes, after: ProgramBytes, drifts: int
) -> None:
    assert len(causes((100, before), (100, before), (100 + change, after), (100 + change, after))) == drifts
    assert may_be_due_to_page_cache(change, before, after) is not bool(drifts)


def run(faults: int, of: ProgramBytes, **changes: object) -> Report:
    return reports.report(1, *[faults] * 30, session=SESSION, files=files(of), **changes)


def verdict(base: Report, head: Report) -> tuple[Verdict, str]:
    comparison = decide_comparison(ComparisonRequest(base=base, head=head))
    assert comparison.verdict is not Verdict.SAME or comparison.remaining_pairs == 0
    sentences = {metric.metric: metric.sentence for metric in comparison.metrics}
    return comparison.verdict, sentences["minor-faults"]


def test_the_same_bytes_in_another_environment_or_by_another_command_can_differ() -> None:
    assert verdict(run(103, A), run(105, A, environment=reports.JEMALLOC))[0] is Verdict.CHANGED
    assert verdict(run(103, A, command=("./a",)), run(105, A, command=("./a", "-v")))[0] is Verdict.CHANGED


def test_the_bytes_of_a_run_are_read_from_its_report() -> None:
    assert read_program_bytes(run(1, A)) == A
    assert read_program_bytes(reports.report(1, 1)) == ProgramBytes()
    assert list_system_file_settings(run(1, UPGRADED)) == {"file./lib/libc.so.6": "2" * 16}
