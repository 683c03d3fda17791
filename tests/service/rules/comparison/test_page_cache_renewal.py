"""What becomes of a difference where some files could not be prepared: it is measured again, with them renewed."""

from __future__ import annotations

import uuid

import pytest

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Report, Verdict
from runner.contract.mapped_files import CacheState, MappedFile, ProgramFiles, UncertainFaults
from service.rules.comparison.comparison_verdict import decide_comparison
from tests.service import reports

SESSION = uuid.UUID(int=1)


def run(
    faults: int,
    highest: int = 0,
    *,
    cache_renewed: bool = False,
    in_build: bool = True,
    cache: CacheState = CacheState.UNPREPARED,
) -> Report:
    data = MappedFile(path="big.bin", in_build=in_build, cache=cache, reason="it is larger than 1024 MiB")
    files = ProgramFiles(mapped=(data,), uncertain_faults=UncertainFaults(highest=highest))
    return reports.report(1, *[faults] * 30, session=SESSION, files=files, cache_renewed=cache_renewed)


def compare(base: Report, head: Report) -> tuple[Comparison, MetricVerdict]:
    comparison = decide_comparison(ComparisonRequest(base=base, head=head))
    return comparison, next(metric for metric in comparison.metrics if metric.metric == "minor-faults")


def test_a_difference_is_measured_again_with_the_page_cache_renewed() -> None:
    comparison, verdict = compare(run(400), run(430))
    assert (verdict.verdict, comparison.needs_cache_renewal, comparison.remaining_pairs) == (Verdict.CHANGED, True, 0)
    assert not compare(run(400), run(400))[0].needs_cache_renewal


@pytest.mark.parametrize("highest", [0, 1_000, 482_910])
def test_what_pairs_show_after_that_is_a_change_however_much_the_page_cache_may_move(highest: int) -> None:
    comparison, verdict = compare(run(150, highest, cache_renewed=True), run(1150, highest, cache_renewed=True))
    assert (verdict.verdict, verdict.over_budget, comparison.needs_cache_renewal) == (Verdict.CHANGED, True, False)
    assert "when the page cache is renewed for the files that could not be prepared" in verdict.sentence


def test_files_that_are_prepared_or_shared_by_both_sides_need_no_renewal() -> None:
    assert not compare(run(400, in_build=False), run(430, in_build=False))[0].needs_cache_renewal
    assert not compare(run(400, cache=CacheState.PREPARED), run(430, cache=CacheState.PREPARED))[0].needs_cache_renewal
