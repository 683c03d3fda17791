"""A small difference of a count is one of two revisions only if it shows in further builds of both."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Comparison, ComparisonRequest, Reading, Report, Sample, Verdict
from runner.contract.mapped_files import ProgramFiles
from runner.contract.other_builds import FURTHER_BUILDS, MAX_FAULTS_BETWEEN_BUILDS, OtherBuild
from service.rules.comparison.comparison_verdict import decide_comparison
from tests.service import reports

SESSION = uuid.uuid4()


def run(number: int, builds: Sequence[int], digests: Sequence[str] = ()) -> Report:
    """A run of a revision: what its builds count, and the bytes of each."""
    digests = digests or [f"{number:08}{place:08}" for place in range(len(builds))]
    others = tuple(
        OtherBuild(own_bytes=digest, counted={"minor-faults": level})
        for level, digest in zip(builds[1:], digests[1:], strict=True)
    )
    return reports.report(
        number,
        session=SESSION,
        samples=(Sample(readings={"minor-faults": Reading(value=builds[0])}),) * 20,
        files=ProgramFiles(mapped=(), own_bytes=digests[0], system_bytes="5" * 16),
        other_builds=others,
    )


def decided(base: Report, head: Report, **more: object) -> tuple[Verdict, bool]:
    comparison = full(base, head, **more)
    return comparison.verdict, comparison.needs_other_builds


def full(base: Report, head: Report, **more: object) -> Comparison:
    return decide_comparison(ComparisonRequest.model_validate({"base": base, "head": head} | more))


def test_a_small_difference_wants_further_builds_and_a_large_one_does_not() -> None:
    assert decided(run(1, [100]), run(2, [101])) == (Verdict.CHANGED, True)
    assert decided(run(1, [101]), run(2, [100])) == (Verdict.CHANGED, True)
    assert decided(run(1, [100]), run(2, [100 + MAX_FAULTS_BETWEEN_BUILDS + 1])) == (Verdict.CHANGED, False)


def test_one_build_that_contradicts_is_enough() -> None:
    assert decided(run(1, [100, 101]), run(2, [101, 101])) == (Verdict.SAME, False)
    assert decided(run(1, [100, 100, 103]), run(2, [104, 102, 104])) == (Verdict.SAME, False)
    sentence = full(run(1, [100, 101]), run(2, [101, 100])).metrics[0].sentence
    assert "base's builds have counts of 100 and 101, head's of 100 and 101" in sentence


def test_builds_that_agree_are_measured_until_they_are_enough() -> None:
    for others in range(FURTHER_BUILDS):
        assert decided(run(1, [100] * (1 + others)), run(2, [101] * (1 + others))) == (Verdict.CHANGED, True)
    enough = 1 + FURTHER_BUILDS
    assert decided(run(1, [100] * enough), run(2, [101] * enough)) == (Verdict.CHANGED, False)


def test_builds_that_repeat_to_the_byte_need_no_more() -> None:
    both = run(1, [100, 100], ["a" * 16, "a" * 16]), run(2, [101, 101], ["b" * 16, "b" * 16])
    assert decided(*both) == (Verdict.CHANGED, False)
    one = run(1, [100, 100], ["a" * 16, "a" * 16]), run(2, [101, 101], ["b" * 16, "c" * 16])
    assert decided(*one) == (Verdict.CHANGED, True)


def test_two_runs_of_one_revision_do_not_differ_by_their_commits() -> None:
    assert decided(run(1, [100], ["a" * 16]), run(1, [101], ["b" * 16])) == (Verdict.CHANGED, False)


def test_what_is_within_the_budget_is_not_built_again() -> None:
    assert decided(run(1, [100]), run(2, [101]), budgets={"minor-faults": 2}) == (Verdict.CHANGED, False)


@given(
    st.lists(st.integers(100, 104), min_size=1, max_size=4),
    st.lists(st.integers(100, 104), min_size=1, max_size=4),
)
def test_a_change_never_stands_where_the_builds_of_both_overlap(base: list[int], head: list[int]) -> None:
    size = min(len(base), len(head))
    base, head = base[:size], head[:size]
    verdict, wants = decided(run(1, base), run(2, head))
    apart = max(base) < min(head) or max(head) < min(base)
    assert (verdict is Verdict.CHANGED) == apart
    assert wants == (apart and size <= FURTHER_BUILDS)


def varying(number: int, level: int, builds: Sequence[int]) -> Report:
    """A run whose count varies by one around a level."""
    samples = tuple(Sample(readings={"minor-faults": Reading(value=level + place % 2)}) for place in range(200))
    return run(number, [level, *builds]).model_copy(update={"samples": samples})


def test_a_small_difference_of_a_count_that_varies_wants_further_builds_too() -> None:
    assert decided(varying(1, 100, []), varying(2, 103, [])) == (Verdict.CHANGED, True)
    assert decided(varying(1, 100, [103]), varying(2, 103, [100])) == (Verdict.SAME, False)


def test_builds_that_count_the_same_do_not_explain_a_change_that_their_levels_do_not_show() -> None:
    base = run(1, [100]).model_copy(update={"samples": (Sample(readings={"minor-faults": Reading(value=100)}),) * 200})
    values = [103 if place % 3 == 0 else 100 for place in range(200)]
    samples = tuple(Sample(readings={"minor-faults": Reading(value=value)}) for value in values)
    head = run(2, [100]).model_copy(update={"samples": samples})
    comparison = full(base, head)
    (verdict,) = comparison.metrics
    assert (verdict.verdict, verdict.changed_pairs, verdict.over_budget) == (Verdict.CHANGED, 67, True)
    assert verdict.sentence.startswith("Intermittent: head's count is higher in 67 of 200 pairs")
    assert not comparison.needs_other_builds
