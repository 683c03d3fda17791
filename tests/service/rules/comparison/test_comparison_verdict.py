from __future__ import annotations

import math
import random
import statistics
import uuid
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Comparison, ComparisonRequest, MetricVerdict, Reading, Report, Sample, Status, Verdict
from runner.contract.mapped_files import ProgramFiles
from service.rules.comparison.comparison_verdict import decide_comparison
from tests.service import reports

SESSION = uuid.uuid4()
Columns = dict[str, Sequence[float]]
ENOUGH = 20
SAME, CHANGED, MORE = Verdict.SAME, Verdict.CHANGED, Verdict.NEEDS_MORE_RUNS


def run(columns: Columns, **changes: object) -> Report:
    """A run with a sample for each row of some metrics."""
    rows = zip(*columns.values(), strict=True)
    samples = tuple(
        Sample(readings={name: Reading(value=value) for name, value in zip(columns, row, strict=True)}) for row in rows
    )
    return reports.report(1, samples=samples, session=SESSION, **changes)


def compared(base: Columns, head: Columns, precision: dict[str, float] | None = None) -> Comparison:
    return decide_comparison(ComparisonRequest(base=run(base), head=run(head), precision=precision or {}))


def of(comparison: Comparison, name: str) -> MetricVerdict:
    return next(verdict for verdict in comparison.metrics if verdict.metric == name)


def faults(base: Sequence[int], head: Sequence[int]) -> MetricVerdict:
    return of(compared({"minor-faults": base}, {"minor-faults": head}), "minor-faults")


def speeds(base: Sequence[float], head: Sequence[float], precision: float = 3) -> MetricVerdict:
    return of(compared({"throughput": base}, {"throughput": head}, {"throughput": precision}), "throughput")


def test_enough_samples_that_agree_on_each_side_are_the_same() -> None:
    comparison = compared({"minor-faults": [7] * 20}, {"minor-faults": [7] * 20})
    assert (comparison.verdict, comparison.remaining_pairs) == (SAME, 0)
    assert of(comparison, "minor-faults").sentence == (
        "The count is the same in 20 of 20 base samples and 20 of 20 head samples."
    )


def test_counts_that_are_only_shown_are_not_called_the_same_beside_one_that_changed() -> None:
    base = {name: [379_845] * ENOUGH for name in ("minor-faults", "page-faults", "cgroup:pgfault")}
    comparison = compared(base, {name: [379_844] * ENOUGH for name in base})
    assert {name: of(comparison, name).verdict for name in base} == dict.fromkeys(base, CHANGED)
    switches = [3, 7, 2, 9, 4] * 4
    shown = of(compared({"context-switches": switches}, {"context-switches": switches}), "context-switches")
    assert shown.verdict is not CHANGED


@pytest.mark.parametrize("level", [0, 10_000, 1_000_000, 2**63])
def test_one_fault_more_is_a_change_once_it_is_sure(level: int) -> None:
    assert faults([level] * 4, [level + 1] * 4).verdict is MORE
    verdict = faults([level] * ENOUGH, [level + 1] * ENOUGH)
    assert (verdict.verdict, verdict.change, verdict.direction) == (CHANGED, 1, "regression")
    assert verdict.percent == (None if level == 0 else 100 / level)
    assert faults([level + 1] * ENOUGH, [level] * ENOUGH).direction == "improvement"


def test_what_is_undecided_orders_the_pairs_that_would_decide_it() -> None:
    for head in ([7, 7], [8, 8]):
        remaining_pairs = compared({"minor-faults": [7, 7]}, {"minor-faults": head}).remaining_pairs
        assert 10 <= remaining_pairs <= 18
        whole = [head[0]] * (2 + remaining_pairs)
        assert compared({"minor-faults": [7] * len(whole)}, {"minor-faults": whole}).verdict is not MORE


def test_the_error_is_shared_among_the_cases_of_a_gate() -> None:
    base, head = run({"minor-faults": [7] * 16}), run({"minor-faults": [8] * 16})
    verdicts = [decide_comparison(ComparisonRequest(base=base, head=head, cases=cases)).verdict for cases in (1, 100)]
    assert verdicts == [CHANGED, MORE]


def noise(n: int, spread: float, seed: int = 0) -> list[float]:
    chance = random.Random(seed)
    return [1000 * math.exp(chance.gauss(0, spread)) for _ in range(n)]


def test_a_noisy_metric_needs_pairs_then_is_decided() -> None:
    assert speeds(noise(8, 0.01), noise(8, 0.01, 1)).verdict is MORE
    verdict = speeds(noise(60, 0.01), noise(60, 0.01, 1))
    assert verdict.verdict is SAME
    assert verdict.bounds is not None
    assert -3 < verdict.bounds[0] < 0 < verdict.bounds[1] < 3
    slower = speeds(noise(60, 0.01), [0.97 * value for value in noise(60, 0.01, 1)])
    assert (slower.verdict, slower.direction) == (CHANGED, "regression")


def test_noise_that_both_sides_share_cancels() -> None:
    shared = noise(40, 0.5)
    verdict = speeds(
        shared, [1.03 * value * wobble / 1000 for value, wobble in zip(shared, noise(40, 0.005, 1), strict=True)]
    )
    assert (verdict.verdict, verdict.direction) == (CHANGED, "improvement")


def test_a_real_change_too_small_to_matter_is_the_same() -> None:
    base = noise(60, 0.001)
    assert speeds(base, [1.01 * value for value in base]).verdict is SAME


def test_a_metric_that_nobody_asked_for_does_not_decide() -> None:
    base = {"minor-faults": [7.0] * 20, "elapsed": [1.0] * 20}
    comparison = compared(base, base | {"elapsed": [2.0] * 20})
    assert of(comparison, "elapsed").verdict is CHANGED
    assert comparison.verdict is SAME
    assert comparison.remaining_pairs == 0


def test_a_change_stands_while_another_metric_is_undecided() -> None:
    base = {"minor-faults": [7.0] * ENOUGH, "throughput": [1.0, 2.0] * (ENOUGH // 2)}
    head = {"minor-faults": [8.0] * ENOUGH, "throughput": [2.0, 1.0] * (ENOUGH // 2)}
    comparison = compared(base, head, {"throughput": 3})
    assert comparison.verdict is CHANGED
    assert comparison.remaining_pairs > 0


def test_zero_against_zero_is_the_same_and_zero_against_something_a_change() -> None:
    assert speeds([0.0] * 30, [0.0] * 30).verdict is SAME
    verdict = speeds([0.0] * 30, [1.0] * 30)
    assert (verdict.verdict, verdict.percent) == (CHANGED, None)


@pytest.mark.parametrize("lacking", ["base", "head"])
@pytest.mark.parametrize("readings", [{}, {"minor-faults": Reading(status=Status.NOT_COUNTED, reason="no counter")}])
@pytest.mark.parametrize("same_bytes", [True, False])
def test_a_deciding_metric_that_one_side_lacks_is_never_the_same(
    lacking: str, readings: dict[str, Reading], same_bytes: bool
) -> None:
    files = ProgramFiles(own_bytes="a" * 16, system_bytes="b" * 16) if same_bytes else None
    side = run({"minor-faults": [7] * 30, "major-faults": [0] * 30}, files=files)
    samples = tuple(Sample(readings={"major-faults": Reading(value=0)} | readings) for _ in range(30))
    sides = {"base": side, "head": side, lacking: side.model_copy(update={"samples": samples})}
    comparison = decide_comparison(ComparisonRequest(**sides))
    verdict = of(comparison, "minor-faults")
    assert (comparison.verdict, comparison.remaining_pairs) == (MORE, 0)
    assert (verdict.rule, verdict.verdict, verdict.counts) == ("absent", MORE, True)
    why = "has no value for this metric: no counter." if readings else "does not report this metric."
    assert verdict.sentence == f"{lacking.capitalize()} {why}"


def test_a_metric_that_the_workload_names_is_missed_on_both_sides() -> None:
    side = run({"minor-faults": [7] * 30})
    comparison = decide_comparison(ComparisonRequest(base=side, head=side, judge=("throughput",)))
    assert (comparison.verdict, of(comparison, "throughput").rule) == (MORE, "absent")


def test_a_metric_that_the_workload_names_decides_by_the_usual_precision() -> None:
    base = {"minor-faults": [7.0] * 40, "elapsed": [1.0] * 40}
    head = run(base | {"elapsed": [1.1] * 40})
    verdict = of(decide_comparison(ComparisonRequest(base=run(base), head=head, judge=("elapsed",))), "elapsed")
    assert (verdict.verdict, verdict.counts, verdict.over_budget, verdict.threshold) == (CHANGED, True, True, 3)


def test_an_estimate_is_never_exact() -> None:
    estimate = Sample(readings={"minor-faults": Reading(status=Status.MULTIPLEXED, value=7)})
    side = run({"minor-faults": [7]}).model_copy(update={"samples": (estimate,) * 5})
    assert decide_comparison(ComparisonRequest(base=side, head=side)).metrics[0].rule == "paired"


def test_environments_that_differ_are_named() -> None:
    base = run({"minor-faults": [7, 7]}, environment=reports.GLIBC)
    head = run({"minor-faults": [7, 7]}, environment=reports.JEMALLOC)
    assert decide_comparison(ComparisonRequest(base=base, head=head)).settings == ("allocator",)


@pytest.mark.parametrize("changes", [{"case": reports.OTHER_CASE}, {"subject": "other"}, {"session": uuid.uuid4()}])
def test_what_does_not_belong_together_is_not_compared(changes: dict[str, object]) -> None:
    base = run({"minor-faults": [7]})
    with pytest.raises(ValueError, match=r"must (belong to|have) the same"):
        ComparisonRequest(base=base, head=base.model_copy(update=changes))


def test_a_stored_base_shows_what_is_the_same_and_nothing_else() -> None:
    def beside(base: Columns, head: Columns) -> Comparison:
        stored = run(base).model_copy(update={"session": None})
        return decide_comparison(ComparisonRequest(base=stored, head=run(head), base_stored=True))

    same = beside({"minor-faults": [7], "elapsed": [1.0]}, {"minor-faults": [7] * ENOUGH, "elapsed": [2.0] * ENOUGH})
    assert (same.verdict, same.remaining_pairs) == (SAME, 0)
    assert not of(same, "elapsed").counts
    few = beside({"minor-faults": [7]}, {"minor-faults": [7, 7]})
    assert (few.verdict, few.remaining_pairs) == (MORE, ENOUGH - 2)
    other = beside({"minor-faults": [7] * ENOUGH}, {"minor-faults": [8] * 2})
    assert (other.verdict, other.remaining_pairs) == (MORE, 0)
    assert beside({"minor-faults": [7]}, {"minor-faults": [7, 8] * ENOUGH}).verdict is MORE


def test_a_stored_base_has_to_be_of_the_same_environment() -> None:
    base = run({"minor-faults": [7]}, environment=reports.JEMALLOC)
    with pytest.raises(ValueError, match="must have the same environment"):
        ComparisonRequest(base=base, head=run({"minor-faults": [7]}), base_stored=True)


VALUES = st.one_of(
    st.integers(0, 3), st.integers(-(2**64), 2**64), st.floats(-(2.0**64), 2.0**64), st.floats(-1e-300, 1e-300)
)
SIDES = st.lists(st.tuples(VALUES, VALUES), min_size=1, max_size=40)
MIRROR = {"regression": "improvement", "improvement": "regression", None: None}


@given(SIDES, st.sampled_from(["minor-faults", "throughput", "elapsed", "region:minor-faults"]))
def test_any_numbers_are_judged_and_swapping_the_sides_mirrors_the_verdict(
    pairs: list[tuple[float, float]], name: str
) -> None:
    base, head = ([pair[side] for pair in pairs] for side in (0, 1))
    verdict = of(compared({name: base}, {name: head}, {name: 3}), name)
    other = of(compared({name: head}, {name: base}, {name: 3}), name)
    assert (verdict.verdict, verdict.rule) == (other.verdict, other.rule)
    assert verdict.direction == MIRROR[other.direction]
    assert (verdict.base, verdict.head) == (other.head, other.base)
    numbers = [verdict.change, verdict.percent, verdict.threshold, *(verdict.bounds or ())]
    assert all(math.isfinite(number) for number in numbers if number is not None)
    assert verdict.bounds is None or verdict.bounds == tuple(-bound for bound in reversed(other.bounds or ()))
    assert verdict.sentence


def test_over_the_api(client: object) -> None:
    request = ComparisonRequest(base=run({"minor-faults": [7] * 20}), head=run({"minor-faults": [7] * 20}))
    answer = client.post("/api/v1/comparisons", json=request.model_dump(mode="json"))  # type: ignore[attr-defined]
    assert answer.status_code == 200, answer.text
    assert Comparison.model_validate(answer.json).verdict is SAME


def within(budget: float | str, base: int, head: int) -> MetricVerdict:
    sides: list[Columns] = [{"minor-faults": [level] * ENOUGH} for level in (base, head)]
    request = ComparisonRequest(base=run(sides[0]), head=run(sides[1]), budgets={"minor-faults": budget})
    return of(decide_comparison(request), "minor-faults")


@pytest.mark.parametrize(
    ("budget", "head", "over"),
    [
        (0, 10_001, True),
        (16, 10_016, False),
        (16, 10_017, True),
        ("2 %", 10_200, False),
        ("2%", 10_201, True),
        ("0.01 %", 10_001, False),
        ("none", 2**63, False),
        (0, 9_000, False),
    ],
)
def test_a_change_for_the_worse_is_held_to_its_budget(budget: int | str, head: int, over: bool) -> None:
    verdict = within(budget, 10_000, head)
    assert (verdict.verdict, verdict.over_budget, verdict.budget) == (CHANGED, over, budget)
    assert ("The change is within its budget" in verdict.sentence) == (not over and head > 10_000)


def test_any_percentage_of_nothing_is_nothing() -> None:
    assert within("50 %", 0, 1).over_budget
    assert not within(1, 0, 1).over_budget


def test_a_budget_is_held_to_the_last_of_many_digits() -> None:
    assert within("1 %", 100 * 2**55, 101 * 2**55 + 1).over_budget
    assert not within("1 %", 100 * 2**55, 101 * 2**55).over_budget


@pytest.mark.parametrize("budget", [-1, "2", "-2 %", "a lot", math.inf, math.nan])
def test_what_is_no_budget_is_refused(budget: float | str) -> None:
    with pytest.raises(ValueError, match="a budget is a number"):
        within(budget, 1, 2)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.one_of(st.integers(0, 10**4), st.just("none"), st.just("3 %")))
def test_a_larger_change_is_never_better_kept(base: int, more: int, budget: int | str) -> None:
    near, far = within(budget, base, base + more), within(budget, base, base + 2 * more)
    assert far.over_budget or not near.over_budget


def test_the_change_of_a_count_that_varies_fits_the_levels_beside_it() -> None:
    noise = random.Random(4)
    base, head = ([round(noise.gauss(level, 20)) for _ in range(60)] for level in (607, 813))
    verdict = faults(base, head)
    assert (verdict.rule, verdict.verdict, verdict.changed_pairs) == ("counts", CHANGED, None)
    assert verdict.change == (verdict.head.level or 0) - (verdict.base.level or 0)
    assert verdict.change != statistics.median(right - left for left, right in zip(base, head, strict=True))


def test_where_the_levels_hide_what_the_pairs_show_the_sentence_says_by_how_much() -> None:
    # Head is one fault above base in every pair, and the levels of both sides are the same.
    base = [7, 7, 7, 8, 8] * 12
    head = [8, 8, 8, 9, 9] * 12
    assert faults(base, head).change == 1
    shuffled = [7] * 31 + [9] * 29
    moved = faults(shuffled, [value + 1 if value == 9 else 7 + 2 * (place > 5) for place, value in enumerate(shuffled)])
    assert moved.direction == "regression"
    assert (moved.change or 0) > 0


def test_a_count_that_varies_little_is_the_same_as_soon_as_one_that_repeats() -> None:
    base, head = [6_426 + (place % 3 == 0) for place in range(20)], [6_426 + (place % 4 == 0) for place in range(20)]
    verdict = faults(base, head)
    assert (verdict.verdict, verdict.threshold) == (SAME, pytest.approx(6_426 * 0.0005, rel=0.01))
    assert verdict.sentence.endswith("A change of 3.21 or more is ruled out.")
    assert faults(base[:19], head[:19]).verdict is MORE


def test_one_fault_more_is_found_in_a_count_that_varies_by_one() -> None:
    chance = random.Random(7)
    base = [6_426 + (chance.random() < 0.2) for _ in range(40)]
    assert faults(base, [count + 1 for count in base]).verdict is CHANGED


def test_a_count_that_varies_much_is_not_the_same_after_twenty_pairs() -> None:
    chance = random.Random(7)
    base, head = ([round(chance.gauss(6_426, 60)) for _ in range(20)] for _ in range(2))
    assert faults(base, head).verdict is MORE


def test_programs_that_found_the_same_files_need_to_exclude_a_large_change_alone() -> None:
    chance = random.Random(7)
    base, head = ([round(chance.gauss(6_426, 6)) for _ in range(20)] for _ in range(2))
    files = ProgramFiles(own_bytes="a" * 16, system_bytes="b" * 16)

    def judge(files: ProgramFiles | None) -> MetricVerdict:
        sides = [run({"minor-faults": side}, files=files) for side in (base, head)]
        return of(decide_comparison(ComparisonRequest(base=sides[0], head=sides[1])), "minor-faults")

    assert judge(None).verdict is MORE
    assert judge(files).verdict is SAME
    assert judge(files).sentence.endswith(
        "Base and head are byte-identical, so the comparison does not look for smaller changes."
    )
