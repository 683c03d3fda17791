"""The search for culprits of a metric that scatters."""

import random

import pytest

from service.rules.bisect.graph import Node
from service.rules.bisect.noisy_search import search_noisy_metric
from service.rules.bisect.question import Found, Measure, Observation, Question, Refused
from tests import thorough
from tests.service.rules.bisect.histories import levels, line

pytestmark = pytest.mark.random


def ask(nodes, **more) -> Question:
    return Question(good="c0", bad=nodes[-1].commit, commits=nodes, exact=False, **more)


def lead(question, truth, noise=1.0, seed=0, failing=frozenset()):
    """Lead a search to its end with normal noise; return its answer and the number of runs."""
    random_ = random.Random(seed)
    seen: list[Observation] = []
    while isinstance(answer := search_noisy_metric(question, seen), Measure):
        assert len(seen) < 2000
        assert len(answer.commits) == 1
        for commit in answer.commits:
            value = None if commit in failing else truth[commit] + random_.gauss(0, noise)
            seen.append(Observation(commit=commit, value=value))
    return answer, seen


@pytest.mark.parametrize("seed", range(thorough.choose(2, 21)))
def test_a_step_as_large_as_the_noise_is_found(seed):
    nodes = line(60)
    answer, _ = lead(ask(nodes), levels(nodes, {"c23": 1}), seed=seed)
    assert [culprit.commit for culprit in answer.culprits] == ["c23"]
    assert answer.culprits[0].parent == "c22"
    assert answer.culprits[0].probability >= 0.99
    assert answer.culprits[0].after - answer.culprits[0].before == pytest.approx(1, abs=0.8)


def test_a_large_step_takes_little_more_than_plain_bisection():
    nodes = line(1000)
    answer, seen = lead(ask(nodes), levels(nodes, {"c700": 100}))
    assert [culprit.commit for culprit in answer.culprits] == ["c700"]
    assert len(seen) <= 20


@pytest.mark.parametrize("level", [0, 100])
def test_a_metric_that_is_equal_in_all_runs_is_refused_after_its_patience(level):
    nodes = line(5)
    answer, seen = lead(ask(nodes, patience=10), dict.fromkeys((f"c{place}" for place in range(6)), level), noise=0)
    assert isinstance(answer, Refused)
    assert answer.sentence == f"The two ends of the range do not differ: good {level}, bad {level}."
    assert len(seen) == 20


def test_two_culprits_are_separated():
    nodes = line(60)
    answer, _ = lead(ask(nodes), levels(nodes, {"c15": 5, "c44": 5}))
    assert [culprit.commit for culprit in answer.culprits] == ["c15", "c44"]
    assert answer.culprits[0].after == pytest.approx(answer.culprits[1].before)


def test_a_culprit_in_a_merged_branch_is_found():
    nodes = (
        *line(8),
        Node(commit="b1", parents=("c3",)),
        *(Node(commit=f"b{place}", parents=(f"b{place - 1}",)) for place in range(2, 7)),
        Node(commit="m", parents=("c8", "b6")),
        Node(commit="n", parents=("m",)),
    )
    answer, _ = lead(ask(nodes), levels(nodes, {"b4": 4}))
    assert [(culprit.commit, culprit.parent) for culprit in answer.culprits] == [("b4", "b3")]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("culprit", ["b2", "b4", "b8"])
def test_a_branch_that_is_older_than_the_range_takes_few_runs(culprit: str, seed: int) -> None:
    """Its commits have their own level, so that no run can tell whether the first one has moved it."""
    nodes = (
        Node(commit="b1", parents=("elsewhere",)),
        *(Node(commit=f"b{place}", parents=(f"b{place - 1}",)) for place in range(2, 9)),
        Node(commit="m", parents=("c0", "b8")),
    )
    truth = {"c0": 430.0} | {node.commit: 430.0 for node in nodes}
    affected = nodes[[node.commit for node in nodes].index(culprit) :]
    answer, seen = lead(ask(nodes), truth | {node.commit: 650.0 for node in affected}, noise=8, seed=seed)
    assert [found.commit for found in answer.culprits] == [culprit]
    assert len(seen) <= 40


def test_commits_that_do_not_build_are_named_with_the_culprit():
    nodes = line(40)
    failing = {"c18", "c19", "c20", "c5"}
    answer, seen = lead(ask(nodes), levels(nodes, {"c19": 6}), failing=failing)
    assert [(culprit.commit, culprit.parent) for culprit in answer.culprits] == [("c21", "c17")]
    assert answer.culprits[0].candidates == ("c18", "c19", "c20", "c21")
    assert all(sum(observation.commit == commit for observation in seen) <= 1 for commit in failing)


def test_a_difference_that_is_only_noise_is_refused_with_the_numbers():
    nodes = line(30)
    answers = [lead(ask(nodes), levels(nodes, {}), seed=seed)[0] for seed in range(5)]
    refused = [answer for answer in answers if isinstance(answer, Refused)]
    assert len(refused) >= 4
    assert "(n = 30)" in refused[0].sentence


def test_stored_runs_are_used():
    nodes = line(200)
    truth, random_ = levels(nodes, {"c150": 2}), random.Random(5)

    def run(commit):
        return Observation(commit=commit, value=truth[commit] + random_.gauss(0, 1))

    stored = [run(f"c{place}") for place in range(0, 201, 5) for _ in range(4)]
    answer = search_noisy_metric(ask(nodes), stored)
    assert isinstance(answer, Measure)
    assert all(140 < int(commit[1:]) < 160 for commit in answer.commits)


def test_the_same_observations_give_the_same_answer():
    nodes = line(50)
    answer, seen = lead(ask(nodes), levels(nodes, {"c20": 3}))
    assert isinstance(answer, Found)
    assert search_noisy_metric(ask(nodes), seen) == answer
    assert search_noisy_metric(ask(nodes), seen[:9]) == search_noisy_metric(ask(nodes), seen[:9])
