from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Verdict
from service.rules.series.find_drifts import SeriesDrift, find_drifts
from service.rules.series.path_and_branches import arrange_branches
from service.rules.series.point_order import Trend, arrange_trend
from service.rules.series.proofs import Proof, apply_proofs, are_changes_excluded
from service.schemas.history import Cause
from tests.service.rules.series.test_find_drifts import points
from tests.service.rules.series.test_path_and_branches import graph


def trend_of(*levels: int, spread: int = 3) -> Trend:
    """A noisy series of one run for each commit, whose samples vary."""
    made = points(*(f"A{position}={level}" for position, level in enumerate(levels)))
    offsets = (-1.0, -0.7, -0.45, -0.3, -0.1, 0.15, 0.35, 0.5, 0.8, 1.0)
    varied = [replace(point, samples=tuple(round(point.value + off * spread) for off in offsets)) for point in made]
    return arrange_trend(varied)


def proof(base: int, head: int, before: int, after: int, *, pairs: int = 20, later: int = 0) -> Proof:
    verdict = Verdict.SAME if before == after else Verdict.CHANGED
    at = datetime(2025, 2, 1, tzinfo=UTC) + timedelta(minutes=later)
    return Proof(f"r{base}", f"r{head}", "A", verdict, pairs, before, after, at)


def settled(trend: Trend, *proofs: Proof) -> list[SeriesDrift]:
    return apply_proofs(find_drifts(trend, is_exact=True), proofs, trend)


DOUBLED = trend_of(34_607, 34_624, 77_790, 77_793, spread=90)


def test_a_doubled_count_of_four_noisy_runs_is_suspected() -> None:
    (drift,) = find_drifts(DOUBLED, is_exact=True)
    assert (drift.change.rule, drift.change.wants_rerun) == ("nominated", True)
    assert (drift.outer_revisions, drift.cause) == (("r1", "r2"), Cause.COMMIT)


def test_four_runs_that_vary_as_their_samples_do_are_not() -> None:
    assert not find_drifts(trend_of(34_607, 34_624, 34_590, 34_611, spread=90), is_exact=True)


def test_pairs_that_differ_prove_it() -> None:
    (drift,) = settled(DOUBLED, proof(1, 2, 34_600, 77_800))
    assert (drift.change.wants_rerun, drift.pairs, drift.outer_revisions) == (False, 20, ("r1", "r2"))


def test_pairs_that_do_not_differ_refute_it_for_good() -> None:
    assert settled(DOUBLED, proof(1, 2, 34_600, 34_600)) == []


def test_the_ends_are_the_same_in_whichever_order_they_were_compared() -> None:
    (drift,) = settled(DOUBLED, proof(2, 1, 77_800, 34_600))
    assert (drift.outer_revisions, drift.goes_up, drift.change.wants_rerun) == (("r1", "r2"), True, False)


def test_the_newest_comparison_of_two_commits_counts() -> None:
    assert settled(DOUBLED, proof(1, 2, 34_600, 77_800), proof(1, 2, 1, 1, later=5)) == []


def test_pairs_that_exclude_only_a_larger_change_replace_no_proof_of_a_smaller_one() -> None:
    trend = trend_of(1000, 1001, 1011, 1012)
    smaller, larger = proof(1, 2, 1000, 1010), replace(proof(1, 2, 1000, 1000, later=5), excluded=50)
    (drift,) = settled(trend, smaller, larger)
    assert (drift.outer_revisions, drift.pairs) == (("r1", "r2"), 20)
    assert settled(trend, smaller, replace(larger, excluded=10)) == []


def test_pairs_that_exclude_only_a_larger_change_replace_no_refutation_of_a_smaller_one() -> None:
    refutation, larger = proof(1, 2, 34_600, 34_600), replace(proof(1, 2, 1, 1, later=5), excluded=90_000)
    assert settled(DOUBLED, refutation, larger) == []
    assert settled(DOUBLED, larger)[0].change.wants_rerun


FORKED = arrange_branches(
    points(*(f"A{number}={1000 if number != 13 else 1100}" for number in (*range(14), 13, 13, 13, 14, 15, 16))),
    graph("r0", *(f"r{n}<r{n - 1}" for n in range(1, 14)), "r14<r12", "r15<r14", "r16<r15", refs=("r13", "r16")),
)
"""Commit r13 of a release branch counts 100 more; r14 … r16 follow r12 on the main branch."""


@pytest.mark.parametrize(("before", "after"), [(1000, 1000), (1000, 1100)])
def test_pairs_of_two_commits_say_nothing_about_another_branch(before: int, after: int) -> None:
    (step,) = find_drifts(FORKED, is_exact=True)
    assert (step.outer_revisions, step.change.wants_rerun) == (("r12", "r13"), False)
    drifts = settled(FORKED, proof(11, 15, before, after))
    assert step in drifts
    others = [drift.outer_revisions for drift in drifts if drift != step]
    assert others == ([("r11", "r15")] if before != after else [])


def test_pairs_of_two_branches_blame_no_commit() -> None:
    assert settled(FORKED, proof(13, 15, 1100, 1000)) == find_drifts(FORKED, is_exact=True)


def test_a_comparison_in_another_environment_says_nothing() -> None:
    other = replace(proof(1, 2, 34_600, 34_600), environment="B")
    assert settled(DOUBLED, other)[0].change.wants_rerun


def test_a_change_that_two_environments_show_is_one_proven_drift() -> None:
    levels = (1000, 1000, 1500, 1499, 1499)
    trend = arrange_trend(
        points(*(f"{place}{number}={level}" for place in "AB" for number, level in enumerate(levels, 1)))
    )
    in_b = [replace(proof(2, 3, 1000, 1500), environment="B"), replace(proof(3, 4, 1500, 1499), environment="B")]
    for proofs in (in_b, [*in_b, proof(2, 3, 1000, 1500, later=1)]):
        proven = settled(trend, *proofs)
        assert [drift.outer_revisions for drift in proven] == [("r2", "r3"), ("r3", "r4")]
        assert all(drift.pairs for drift in proven)


def test_pairs_that_differ_prove_a_drift_of_an_environment_that_the_host_no_longer_has() -> None:
    elsewhere = replace(proof(1, 2, 30_000, 70_000), environment="B")
    (drift,) = settled(DOUBLED, elsewhere)
    assert (drift.change.wants_rerun, drift.pairs, drift.outer_revisions) == (False, 20, ("r1", "r2"))
    assert (drift.before.environment, round(drift.change.before, -3)) == ("A", 35_000)
    opposite = settled(DOUBLED, replace(elsewhere, before=70_000, after=30_000))
    assert any(drift.goes_up and drift.change.wants_rerun for drift in opposite), "they do not refute it"


def test_a_comparison_of_a_commit_that_was_not_measured_says_nothing() -> None:
    assert settled(DOUBLED, replace(proof(1, 2, 1, 1), head="elsewhere"))[0].change.wants_rerun


def test_pairs_that_differ_where_the_runs_show_nothing_are_a_drift() -> None:
    (drift,) = settled(trend_of(1000, 1001, 1002, 1001), proof(1, 2, 1000, 1020))
    assert (drift.change.rule, drift.change.before, drift.change.after) == ("paired", 1000, 1020)
    assert (drift.before.revision, drift.after.revision, drift.pairs) == ("r1", "r2", 20)


def test_the_narrowest_pairs_locate_it() -> None:
    trend = trend_of(1000, 1001, 1000, 1001, 1002, 1000)
    (drift,) = settled(trend, proof(0, 5, 1000, 1020), proof(2, 5, 1000, 1020), proof(2, 3, 1000, 1020))
    assert drift.outer_revisions == ("r2", "r3")


def test_both_halves_of_a_step_are_drifts() -> None:
    runs = (f"A{n}={1000 if n < 7 else 1249}" for n in (*range(6), 8, 9, 10, 11, 12))
    trend = arrange_trend(points(*runs, "A7=1148"))
    wide = find_drifts(trend, is_exact=True)
    assert [drift.outer_revisions for drift in wide] != [("r5", "r7"), ("r7", "r8")]
    halves = apply_proofs(wide, [proof(5, 7, 1000, 1148), proof(7, 8, 1148, 1249)], trend)
    assert [(drift.outer_revisions, drift.change.wants_rerun) for drift in halves] == [
        (("r5", "r7"), False),
        (("r7", "r8"), False),
    ]


def test_pairs_that_do_not_differ_narrow_a_range() -> None:
    trend = arrange_trend(points(*(f"A{n}=1000" for n in range(12)), *(f"A{n}=1100" for n in range(15, 20))))
    measured = arrange_trend([*points(*(f"A{n}=1000" for n in (13,))), *trend.path])
    (drift,) = apply_proofs(find_drifts(trend, is_exact=True), [proof(11, 13, 1000, 1000)], measured)
    assert drift.outer_revisions == ("r13", "r15")


def test_a_step_of_the_runs_that_pairs_do_not_show_is_no_commits() -> None:
    trend = arrange_trend(points(*(f"A{n}={1000 if n < 12 else 1100}" for n in range(24))))
    (drift,) = apply_proofs(find_drifts(trend, is_exact=True), [proof(11, 12, 1000, 1000)], trend)
    assert drift.cause is Cause.UNKNOWN
    assert "20 interleaved pairs of r11 and r12 do not show the change" in drift.change.evidence


def test_pairs_that_do_not_differ_refute_all_suspicions_of_one_direction_between_them() -> None:
    levels = [1000] * 6 + [1100] * 2 + [1200] * 2
    two_steps = arrange_trend(points(*(f"A{n}={level}" for n, level in enumerate(levels))))
    suspicions = find_drifts(two_steps, is_exact=True)
    assert [(drift.goes_up, drift.change.wants_rerun) for drift in suspicions] == [(True, True)] * 2
    assert apply_proofs(suspicions, [proof(5, 8, 1000, 1000)], two_steps) == []
    (drop,) = apply_proofs(suspicions, [proof(5, 8, 1000, 950)], two_steps)
    assert not drop.goes_up
    assert apply_proofs(suspicions, [proof(5, 8, 1000, 1200)], two_steps) == suspicions, "either may be the change"
    bump = arrange_trend(points(*(f"A{n}={level}" for n, level in enumerate(levels[:8] + [1000] * 2))))
    steps = find_drifts(bump, is_exact=True)
    assert apply_proofs(steps, [proof(5, 8, 1000, 1000)], bump) == steps, "one may undo the other"


@pytest.mark.parametrize(
    ("before", "after", "cause", "pairs"),
    [(1007, 1027, Cause.COMMIT_AND_CONFIG, None), (1000, 1027, Cause.COMMIT, 20), (1027, 1027, Cause.CONFIG, None)],
)
def test_pairs_in_one_environment_blame_a_commit_only_for_what_they_show(
    before: int, after: int, cause: Cause, pairs: int | None
) -> None:
    """Commit 13 came with another environment, in which one run of commit 12 lies between the two levels."""
    runs = (*(f"A{n}=1000" for n in range(13)), "B12=1007", *(f"B{n}=1027" for n in range(13, 19)))
    trend = arrange_trend(points(*runs))
    (both,) = find_drifts(trend, is_exact=True)
    assert both.cause is Cause.COMMIT_AND_CONFIG
    (drift,) = apply_proofs([both], [replace(proof(12, 13, before, after), environment="B")], trend)
    assert (drift.cause, drift.pairs) == (cause, pairs)
    assert (drift.change.before, drift.change.after) == (1000, 1027)


def test_a_stretch_is_covered_by_pairs_of_its_ends_or_beyond() -> None:
    trend = trend_of(1000, 1001, 1002, 1001)
    level = trend.path
    assert are_changes_excluded(level[1], level[3], [proof(0, 3, 1000, 1000)], level)
    assert not are_changes_excluded(level[0], level[3], [proof(0, 2, 1000, 1000)], level)
    assert not are_changes_excluded(level[0], level[3], [proof(0, 3, 1000, 1001)], level)


LEVELS = st.lists(st.integers(0, 40).map(lambda off: 1000 + off), min_size=3, max_size=20)
ENDS = st.tuples(st.integers(0, 19), st.integers(0, 19), st.integers(-3, 3))


@given(LEVELS, st.lists(ENDS, max_size=6))
def test_what_neighbours_show_in_pairs_is_what_the_series_says(
    levels: list[int], compared: list[tuple[int, int, int]]
) -> None:
    trend = trend_of(*levels)
    neighbours = {min(one, other): by for one, other, by in compared if abs(one - other) == 1}
    proofs = [proof(base, base + 1, 1000, 1000 + by) for base, by in neighbours.items() if base + 1 < len(levels)]
    drifts = settled(trend, *proofs)
    located = {drift.outer_revisions: drift for drift in drifts if drift.pairs}
    for each in proofs:
        assert ((each.base, each.head) in located) == (each.verdict is Verdict.CHANGED)
        same = [d for d in drifts if d.outer_revisions == (each.base, each.head) and d.change.wants_rerun]
        assert each.verdict is Verdict.CHANGED or not same


def test_pairs_refute_and_cover_what_they_exclude_only() -> None:
    (drift,) = find_drifts(DOUBLED, is_exact=True)
    coarse = replace(proof(1, 2, 34_600, 34_600), excluded=20_000)
    assert settled(DOUBLED, coarse) == []
    assert settled(DOUBLED, replace(coarse, excluded=50_000)) == [drift], "a larger change than that of the runs"
    level = trend_of(1000, 1001, 1002, 1001).path
    assert are_changes_excluded(level[0], level[3], [replace(proof(0, 3, 1000, 1000), excluded=10)], level)
    assert not are_changes_excluded(level[0], level[3], [replace(proof(0, 3, 1000, 1000), excluded=100)], level)
