"""What becomes of a difference where some files could not be prepared."""

from __future__ import annotations

import uuid

import pytest

from runner.contract import ComparisonRequest, MetricVerdict, Report, Verdict
from runner.contract.files import CacheState, MappedFile, ProgramFiles, UncertainFaults
from service.rules.comparison.in_turns import decide
from tests.service import reports

SESSION = uuid.UUID(int=1)


def run(faults: int, least: int = 0, most: int = 0, outside: int | None = 300, own: str = "a") -> Report:
    data = MappedFile(path="big.bin", own=True, cache=CacheState.UNPREPARED, reason="it is larger than 1024 MiB")
    uncertain = UncertainFaults(least=least, most=most, outside=outside)
    files = ProgramFiles(mapped=(data,), own_bytes=own * 16, system_bytes="1" * 16, uncertain_faults=uncertain)
    return reports.report(1, *[faults] * 30, session=SESSION, files=files)


def verdict(base: Report, head: Report) -> MetricVerdict:
    metrics = decide(ComparisonRequest(base=base, head=head)).metrics
    return next(metric for metric in metrics if metric.metric == "minor-faults")


def test_what_renewing_moves_in_base_is_no_change_of_head() -> None:
    found = verdict(run(400, 100, 140), run(430, 100, 140, own="b"))
    assert (found.verdict, found.although, found.over) == (Verdict.SAME, "unprepared files", False)
    assert "differs by up to 40" in found.sentence


@pytest.mark.parametrize(
    "head",
    [
        run(441, 100, 140, own="b"),
        run(1400, 0, 482_910, own="b"),
        run(430, 100, 140, outside=330, own="b"),
        run(430, 100, 140, outside=None, own="b"),
    ],
)
def test_what_is_more_than_that_or_elsewhere_is_a_change(head: Report) -> None:
    assert verdict(run(400, 100, 140), head).verdict is Verdict.CHANGED


def test_faults_that_head_takes_more_of_in_such_a_file_are_a_change() -> None:
    assert verdict(run(150, 100, 100), run(1150, 1100, 1100, own="b")).verdict is Verdict.CHANGED


def test_head_does_not_say_how_far_its_own_counts_may_move() -> None:
    assert verdict(run(150, 100, 100), run(1150, 100, 1100, own="b")).verdict is Verdict.CHANGED
