"""By which rules a search judges a count that varies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.rules.bisect.count_variation import apply_noise_rules_if_varying, compute_half_range
from service.rules.bisect.question import Observation, Question
from tests.service.rules.bisect.histories import line

QUESTION = Question(good="c0", bad="c9", commits=line(9), unit="faults")
VARIED = (607, 613, 610, 604, 616, 609)
counts = st.integers(0, 10_000)


def run(commit: str, *samples: int) -> Observation:
    """A run, with its samples as the store has them: only where they differ."""
    level = sorted(samples)[len(samples) // 2]
    return Observation(commit=commit, value=level, samples=samples if len(set(samples)) > 1 else ())


def test_a_count_that_varies_in_every_run_is_searched_by_the_rules_for_noise() -> None:
    assert not apply_noise_rules_if_varying(QUESTION, [run("c0", *VARIED), run("c9", *VARIED)]).exact


def test_outliers_make_no_count_noisy() -> None:
    outliers = [run("c0", *[7] * 9, 500), run("c9", 7, 9, 7), *(run(f"c{place}", 7, 7) for place in range(1, 9))]
    assert apply_noise_rules_if_varying(QUESTION, outliers) == QUESTION


def test_runs_outside_of_the_range_say_nothing_about_it() -> None:
    assert apply_noise_rules_if_varying(QUESTION, [run("other", *VARIED), run("another", *VARIED)]).exact


def test_what_varies_by_less_than_matters_repeats() -> None:
    runs = [run("c0", *VARIED), run("c9", *VARIED)]
    assert apply_noise_rules_if_varying(QUESTION.model_copy(update={"min_difference": 13}), runs).exact
    assert not apply_noise_rules_if_varying(QUESTION.model_copy(update={"min_difference": 12}), runs).exact


@given(st.lists(st.tuples(st.integers(0, 9), counts), max_size=40))
def test_a_count_whose_samples_agree_is_exact_whatever_it_does_between_commits(runs: list[tuple[int, int]]) -> None:
    assert apply_noise_rules_if_varying(QUESTION, [run(f"c{place}", count, count) for place, count in runs]).exact


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(counts, min_size=1, max_size=9)), min_size=1, max_size=20))
def test_no_execution_of_a_commit_is_further_off_than_the_range(runs: list[tuple[int, list[int]]]) -> None:
    half = compute_half_range(run(f"c{place}", *values) for place, values in runs)
    by_commit: dict[int, list[int]] = {}
    for place, values in runs:
        by_commit.setdefault(place, []).extend(values)
    assert 2 * half == max(max(values) - min(values) for values in by_commit.values())
