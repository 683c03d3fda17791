from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract import Verdict
from service.rules.comparison.metric_decision import MetricDecision, decide_count

ERROR = 1e-4
LAWS: dict[str, Callable[[random.Random], int]] = {
    "exact": lambda _: 10_000,
    "two modes": lambda chance: 10_000 + 700 * (chance.random() < 0.3),
    "jitter": lambda chance: 10_000 + chance.choice((-1, 0, 1)),
    "outliers": lambda chance: 10_000 + (chance.random() < 0.05) * chance.randrange(1, 60),
}


def decided(base: Callable[[random.Random], int], head: Callable[[random.Random], int], seed: int) -> MetricDecision:
    """Sample both sides interleaved, as the runner does, until the decision is made."""
    chance = random.Random(seed)
    pairs: list[tuple[int, int]] = []
    more = 2
    while more and len(pairs) < 400:
        pairs += [(base(chance), head(chance)) for _ in range(more)]
        decision = decide_count(pairs, ERROR)
        more = decision.remaining_pairs
    return decision


@pytest.mark.parametrize("name", LAWS)
def test_an_unchanged_count_is_the_same_whatever_its_noise(name: str) -> None:
    verdicts = [decided(LAWS[name], LAWS[name], seed).verdict for seed in range(20)]
    assert Verdict.CHANGED not in verdicts
    assert verdicts.count(Verdict.SAME) >= 18


@pytest.mark.parametrize("name", LAWS)
def test_one_fault_more_is_seen_through_outliers_modes_and_jitter(name: str) -> None:
    law = LAWS[name]
    for seed in range(10):
        decision = decided(law, lambda chance: law(chance) + 1, seed)
        assert (decision.verdict, decision.direction) == (Verdict.CHANGED, 1)


def test_a_change_in_some_executions_is_called_intermittent() -> None:
    for seed in range(20):
        head = lambda chance: 10_000 + 1_000 * (chance.random() < 0.4)  # noqa: E731
        decision = decided(LAWS["exact"], head, seed)
        assert (decision.verdict, decision.change, decision.direction) == (Verdict.CHANGED, 1_000, 1)
        assert decision.changed_pairs is not None
        assert decision.sentence.startswith(f"Intermittent: head's count is higher in {decision.changed_pairs} of ")


def test_too_few_samples_are_the_same_only_where_the_workload_allows_no_more() -> None:
    pairs = [(7, 7)] * 5
    assert decide_count(pairs, ERROR).verdict is Verdict.NEEDS_MORE_RUNS
    assert decide_count(pairs, ERROR, max_pairs=6).verdict is Verdict.NEEDS_MORE_RUNS
    decision = decide_count(pairs, ERROR, max_pairs=5)
    assert decision.verdict is Verdict.SAME
    assert "fewer than 75\N{NARROW NO-BREAK SPACE}% of the executions" in decision.sentence
    assert decide_count([(7, 8)] * 5, ERROR, max_pairs=5).verdict is Verdict.NEEDS_MORE_RUNS
    assert decide_count([(7, 7)], ERROR, max_pairs=1).verdict is Verdict.NEEDS_MORE_RUNS


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=60), st.integers(1, 60))
def test_swapping_the_sides_mirrors_the_decision(pairs: list[tuple[int, int]], most: int) -> None:
    decision = decide_count(pairs, ERROR, most)
    mirror = decide_count([(head, base) for base, head in pairs], ERROR, most)
    assert (decision.verdict, decision.rule, decision.changed_pairs) == (
        mirror.verdict,
        mirror.rule,
        mirror.changed_pairs,
    )
    assert decision.direction == -mirror.direction
    assert (decision.verdict is Verdict.NEEDS_MORE_RUNS) == (decision.remaining_pairs > 0)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_many_more_faults_in_some_executions_are_not_bought_with_one_less_in_the_others(share: float) -> None:
    for seed in range(10):
        head = lambda chance: 11_000 if chance.random() < share else 9_999  # noqa: E731
        decision = decided(LAWS["exact"], head, seed)
        assert (decision.verdict, decision.direction) == (Verdict.CHANGED, 1)
        if decision.changed_pairs is not None:
            assert decision.change == 1_000


def test_the_smallest_large_difference_is_written_with_separators() -> None:
    differences = [5_000] * 30 + [1_000, -1_000] * 135
    decision = decide_count([(10_000, 10_000 + difference) for difference in differences], ERROR)
    assert "(30 of these by at least 4,096)" in decision.sentence
    assert decision.sentence.endswith("the median large increase is 5,000.")


def test_large_differences_that_are_as_fair_as_small_ones_are_no_change() -> None:
    wild = lambda chance: 10_000 + chance.choice((0, 1, 500))  # noqa: E731
    assert not [seed for seed in range(40) if decided(wild, wild, seed).verdict is Verdict.CHANGED]


def draw_pairs(rng: np.random.Generator, sigma: float, shift: float = 0, share: float = 1) -> list[tuple[int, int]]:
    """Return pairs around 10,000; in a share of the executions, head is shifted. Deviations are in percent."""
    sides = rng.normal(10_000, 100 * sigma, (2, 400))
    sides[1] += 100 * shift * (rng.random(400) < share)
    base, head = np.rint(sides).astype(int).tolist()
    return list(zip(base, head, strict=True))


def look(pairs: list[tuple[int, int]], worth_proving: float | None) -> tuple[MetricDecision, int]:
    """Return the first decision if one looks as a comparison does, and the number of pairs that it takes."""
    count = 16
    while True:
        decision = decide_count(pairs[:count], ERROR, len(pairs), worth_proving)
        if decision.verdict is not Verdict.NEEDS_MORE_RUNS or count >= len(pairs):
            return decision, count
        count = min(len(pairs), count + max(4, decision.remaining_pairs))


def test_a_change_of_twenty_percent_is_refuted_long_before_one_of_one_percent() -> None:
    rng = np.random.default_rng(4)
    unchanged = [draw_pairs(rng, 1) for _ in range(30)]
    taken = {worth: [look(pairs, worth) for pairs in unchanged] for worth in (None, 1, 10)}
    assert {decision.verdict for worth in (1, 10) for decision, _ in taken[worth]} == {Verdict.SAME}
    pairs = {worth: np.median([count for _, count in looks]) for worth, looks in taken.items()}
    assert pairs[10] <= 20
    assert pairs[10] < pairs[1] < pairs[None]
    assert {decision.excluded_change for decision, _ in taken[None]} == {None}
    excluded = [float(decision.excluded_change or 0) for decision, _ in taken[10]]
    assert 990 < min(excluded) <= max(excluded) < 1010
    assert "A change of" in taken[10][0][0].sentence


def test_what_is_worth_proving_is_never_refuted() -> None:
    rng = np.random.default_rng(5)
    for sigma, shift, share, worth in ((1, 2, 1, 1), (1, 1, 1, 1), (5, 10, 1, 10), (1, 10, 0.4, 10), (1, -2, 1, 1)):
        looks = [look(draw_pairs(rng, sigma, shift, share), worth)[0] for _ in range(40)]
        assert {decision.verdict for decision in looks} == {Verdict.CHANGED}, (sigma, shift, share, worth)


def test_a_smaller_change_is_found_although_a_larger_one_is_looked_for() -> None:
    rng = np.random.default_rng(6)
    assert look(draw_pairs(rng, 0.1, 1), 10)[0].verdict is Verdict.CHANGED
