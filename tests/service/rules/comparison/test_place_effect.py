"""What becomes of a difference between programs that were answered the same."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Report, Verdict
from runner.contract.mapped_files import ProgramFiles
from runner.contract.other_builds import OtherPlace
from service.rules.comparison.comparison_verdict import decide_comparison
from tests.service import reports

SESSION = uuid.UUID(int=1)
SAME = ProgramFiles(own_bytes="a" * 16, system_bytes="1" * 16)
OTHER = ProgramFiles(own_bytes="b" * 16, system_bytes="1" * 16)


def run(*faults: int, files: ProgramFiles = SAME, place: tuple[int, ...] = (), **changes: object) -> Report:
    there = OtherPlace(counted={"minor-faults": place}, differences=("plugins/slow: only in head",)) if place else None
    return reports.report(1, *faults, session=SESSION, files=files, other_place=there, **changes)


def compare(base: Report, head: Report) -> tuple[Comparison, MetricVerdict]:
    comparison = decide_comparison(ComparisonRequest(base=base, head=head))
    return comparison, next(metric for metric in comparison.metrics if metric.metric == "minor-faults")


def test_what_every_pair_shows_is_a_change_whatever_was_answered() -> None:
    comparison, verdict = compare(run(*[359] * 20), run(*[1359] * 20))
    assert (comparison.verdict, comparison.same_bytes, verdict.direction) == (Verdict.CHANGED, True, "regression")
    assert verdict.over_budget
    assert comparison.needs_other_place


def test_base_that_counts_as_before_in_the_place_of_head_shows_that_head_differs() -> None:
    comparison, verdict = compare(run(*[359] * 20, place=(359,) * 20), run(*[1359] * 20))
    assert (verdict.verdict, verdict.over_budget, comparison.needs_other_place) == (Verdict.CHANGED, True, False)
    assert "something else in the tree does: plugins/slow: only in head" in verdict.sentence


def test_base_that_counts_like_head_in_its_place_shows_that_the_place_differs() -> None:
    comparison, verdict = compare(run(*[7002] * 20, place=(7003,) * 20), run(*[7003] * 20))
    assert (comparison.verdict, verdict.same_because, verdict.over_budget) == (Verdict.SAME, "place", False)
    assert "Base also has a count of 7,003 when" in verdict.sentence


def test_a_place_excuses_no_more_faults_than_other_builds_do() -> None:
    _, verdict = compare(run(*[359] * 20, place=(1359,) * 20), run(*[1359] * 20))
    assert (verdict.verdict, verdict.over_budget) == (Verdict.CHANGED, True)
    assert "depend on the path" in verdict.sentence


@pytest.mark.parametrize("place", [(800,) * 20, (1359,) * 3, (359, 1359) * 10])
def test_a_place_that_explains_only_a_part_excuses_nothing(place: tuple[int, ...]) -> None:
    _, verdict = compare(run(*[359] * 20, place=place), run(*[1359] * 20))
    assert (verdict.verdict, verdict.over_budget) == (Verdict.CHANGED, True)


def test_programs_that_were_answered_differently_need_no_other_place() -> None:
    comparison, verdict = compare(run(*[359] * 20), run(*[1359] * 20, files=OTHER))
    assert (verdict.verdict, comparison.needs_other_place) == (Verdict.CHANGED, False)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=40), st.booleans())
def test_equal_answers_never_turn_a_change_into_none(pairs: list[tuple[int, int]], equal: bool) -> None:
    base, head = ([pair[side] for pair in pairs] for side in (0, 1))
    _, other = compare(run(*base), run(*head, files=OTHER))
    _, same = compare(run(*base), run(*head))
    assert (other.verdict is Verdict.CHANGED) == (same.verdict is Verdict.CHANGED)


def test_equal_answers_save_no_pair() -> None:
    """A program that asks for nothing else in its first executions may take more faults in later ones."""
    comparison, verdict = compare(run(359, 359), run(359, 359))
    assert (verdict.verdict, comparison.remaining_pairs > 0) == (Verdict.NEEDS_MORE_RUNS, True)
