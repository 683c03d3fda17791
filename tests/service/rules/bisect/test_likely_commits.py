"""What a search measures next, whatever it finds: known before it is found."""

import pytest

from service.rules.bisect.exact_search import search
from service.rules.bisect.likely_commits import likely_commits
from service.rules.bisect.question import Measure, Observation, Question
from tests.service.rules.bisect.histories import levels, line


@pytest.mark.parametrize("culprit", [1, 77, 150, 299, 300])
def test_the_next_commit_is_one_of_the_first_two(culprit: int) -> None:
    nodes = line(300)
    question, truth = Question(good="c0", bad="c300", commits=nodes), levels(nodes, {f"c{culprit}": 7})
    seen: list[Observation] = []
    predicted: tuple[str, ...] = ()
    while isinstance(answer := search(question, seen), Measure):
        if seen:
            assert answer.commits[0] in predicted
        predicted = likely_commits(question, seen, answer, 2)
        assert answer.commits[0] not in predicted
        seen.append(Observation(commit=answer.commits[0], value=truth[answer.commits[0]]))
    assert predicted == ()


def test_more_commits_are_those_after_the_next() -> None:
    nodes = line(64)
    question = Question(good="c0", bad="c64", commits=nodes)
    ends = [Observation(commit="c0", value=1), Observation(commit="c64", value=2)]
    answer = search(question, ends)
    assert isinstance(answer, Measure)
    assert answer.commits == ("c32",)
    assert set(likely_commits(question, ends, answer, 2)) == {"c16", "c48"}
    assert set(likely_commits(question, ends, answer, 6)) == {"c16", "c48", "c8", "c24", "c40", "c56"}


def test_a_noisy_search_predicts_nothing() -> None:
    question = Question(good="c0", bad="c9", commits=line(9), exact=False)
    assert likely_commits(question, [], Measure(commits=("c0",), left=9), 4) == ()
