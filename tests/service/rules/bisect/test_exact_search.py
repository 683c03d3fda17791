"""The search for culprits of a metric that repeats."""

from math import ceil, log2
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rules.bisect.exact_search import search_exact_metric
from service.rules.bisect.graph import Node
from service.rules.bisect.question import Found, Measure, Observation, Question, Refused
from tests.service.rules.bisect.histories import ancestors, graphs, lead, levels, line


def ask(nodes, **more) -> Question:
    return Question(good="c0", bad=nodes[-1].commit, commits=nodes, **more)


@pytest.mark.parametrize("culprit", [1, 2, 499, 500, 501, 999, 1000])
def test_a_thousand_commits_take_twelve_measurements(culprit):
    nodes = line(1000)
    answer, seen = lead(search_exact_metric, ask(nodes), levels(nodes, {f"c{culprit}": 1}))
    assert [culprit.commit for culprit in answer.culprits] == [f"c{culprit}"]
    assert answer.culprits[0].parent == f"c{culprit - 1}"
    assert len(seen) <= 12


@settings(max_examples=40)
@given(nodes=graphs(), data=st.data(), slots=st.integers(1, 4))
def test_all_culprits_are_found_and_nothing_is_measured_twice(nodes, data, slots):
    commits = [node.commit for node in nodes]
    culprits = data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=3, unique=True))
    truth = levels(nodes, {culprit: 2**place for place, culprit in enumerate(culprits)})
    answer, seen = lead(search_exact_metric, ask(nodes), truth, slots=slots)
    assert isinstance(answer, Found)
    assert {culprit.commit for culprit in answer.culprits} == set(culprits)
    assert len(seen) == len({observation.commit for observation in seen})


@settings(max_examples=60)
@given(nodes=graphs(), data=st.data())
def test_the_culprits_explain_every_commit_that_was_measured(nodes, data):
    """Also where two of them cancel each other, so that the ends do not show them."""
    commits = [node.commit for node in nodes]
    culprits = data.draw(st.lists(st.sampled_from(commits), min_size=1, max_size=4, unique=True))
    steps = {culprit: data.draw(st.sampled_from([-10, -3, 3, 10])) for culprit in culprits}
    truth = levels(nodes, steps)
    answer, seen = lead(search_exact_metric, ask(nodes), truth)
    # A culprit that is named with other commits has an unknown effect on those.
    if isinstance(answer, Found) and all(len(culprit.candidates) == 1 for culprit in answer.culprits):
        contained = ancestors(nodes)
        for observation in seen:
            effects = [
                culprit.own_change for culprit in answer.culprits if culprit.commit in contained[observation.commit]
            ]
            assert truth["c0"] + sum(effects) == observation.value


def test_a_branch_that_cancels_what_it_merged_is_found_with_it():
    nodes = (
        Node(commit="a", parents=("c0",)),
        Node(commit="b", parents=("c0", "a")),
        Node(commit="x", parents=("b",)),
        Node(commit="m", parents=("a", "x")),
    )
    answer, _ = lead(search_exact_metric, ask(nodes), levels(nodes, {"a": 10, "x": -10, "m": 3}))
    assert {culprit.commit: culprit.own_change for culprit in answer.culprits} == {"a": 10, "x": -10, "m": 3}


def test_a_merge_undone_among_commits_that_cannot_be_built_is_explained_once():
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="c2", parents=("c1", "c0")),
        Node(commit="c3", parents=("c0",)),
        Node(commit="c4", parents=("c1", "c3")),
        Node(commit="c5", parents=("c2",)),
        Node(commit="c6", parents=("c2", "c4", "c5")),
    )
    steps = {"c1": 1, "c2": -1, "c6": 5}
    answer, _ = lead(search_exact_metric, ask(nodes), levels(nodes, steps), failing={"c2", "c4"})
    assert all(steps.keys() & set(culprit.candidates) for culprit in answer.culprits)


def test_a_culprit_that_merges_older_branches_criss_cross_is_told_from_the_merge_after_it():
    parents = {
        **{"c1": ("c0",), "c2": ("c0",), "c3": ("c0",), "c4": ("c0", "c1"), "c5": ("c1",)},
        **{"c6": ("c2", "c3", "c4"), "c7": ("c3", "c4", "c5"), "c8": ("c4", "c6", "c7")},
    }
    nodes = tuple(Node(commit=commit, parents=before) for commit, before in parents.items())
    answer, _ = lead(search_exact_metric, ask(nodes), levels(nodes, {"c1": 1, "c7": 2, "c2": 4}))
    assert {culprit.commit: culprit.candidates for culprit in answer.culprits} == {
        name: (name,) for name in ("c1", "c2", "c7")
    }


@settings(max_examples=40)
@given(nodes=graphs(), data=st.data())
def test_a_culprit_is_among_the_candidates_where_commits_cannot_be_built(nodes, data):
    commits = [node.commit for node in nodes]
    culprit = data.draw(st.sampled_from(commits))
    failing = data.draw(st.sets(st.sampled_from(commits))) - {commits[-1]}
    answer, seen = lead(search_exact_metric, ask(nodes), levels(nodes, {culprit: 7}), failing)
    assert isinstance(answer, Found)
    named = {commit for culprit in answer.culprits for commit in culprit.candidates}
    assert culprit in named
    assert len(named) == 1 or failing
    assert len(seen) == len({observation.commit for observation in seen})


@given(known=st.sets(st.integers(0, 200)), culprit=st.integers(1, 200))
@settings(max_examples=25)
def test_known_results_are_reused(known, culprit):
    nodes = line(200)
    truth = levels(nodes, {f"c{culprit}": -3})
    stored = [Observation(commit=f"c{place}", value=truth[f"c{place}"]) for place in known]
    seen = list(stored)
    while isinstance(answer := search_exact_metric(ask(nodes), seen), Measure):
        assert not {observation.commit for observation in seen} & set(answer.commits)
        seen += [Observation(commit=commit, value=truth[commit]) for commit in answer.commits]
    assert answer.culprits[0].commit == f"c{culprit}"
    lows = max([place for place in known if place < culprit], default=0)
    highs = min([place for place in known if place >= culprit], default=200)
    ends = len({0, 200} - known)
    assert len(seen) - len(stored) <= ends + ceil(log2(highs - lows))


def test_several_builds_side_by_side_take_fewer_turns():
    nodes = line(1000)
    truth = levels(nodes, {"c700": 5})
    seen, turns = [], 0
    while isinstance(answer := search_exact_metric(ask(nodes), seen, max_commits=3), Measure):
        seen += [Observation(commit=commit, value=truth[commit]) for commit in answer.commits]
        turns += 1
    assert answer.culprits[0].commit == "c700"
    assert turns <= 6


def test_a_stretch_that_does_not_build_is_left_at_once():
    nodes = line(1024)
    failing = {f"c{place}" for place in range(430, 620)}
    answer, seen = lead(search_exact_metric, ask(nodes), levels(nodes, {"c100": 5}), failing)
    assert answer.culprits[0].commit == "c100"
    assert len(seen) <= 16


def test_the_search_follows_a_merge_into_its_branch():
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="b1", parents=("c0",)),
        Node(commit="b2", parents=("b1",)),
        Node(commit="b3", parents=("b2",)),
        Node(commit="m", parents=("c1", "b3")),
    )
    truth = {**levels(nodes, {"b2": 5}), "c0": 100}
    answer, _ = lead(search_exact_metric, ask(nodes), truth)
    assert [(culprit.commit, culprit.parent) for culprit in answer.culprits] == [("b2", "b1")]


def test_a_merge_is_shown_with_levels_that_were_measured():
    """A branch takes more away where it was made than where it is merged: the two do not add up."""
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="b1", parents=("c0",)),
        Node(commit="m", parents=("c1", "b1")),
    )
    truth = {"c0": 25_000, "c1": 19_000, "b1": 3_000, "m": 2_000}
    answer, _ = lead(search_exact_metric, ask(nodes), truth)
    shown = {culprit.commit: culprit for culprit in answer.culprits}
    assert set(shown) == {"c1", "b1", "m"}
    for culprit in answer.culprits:
        assert (culprit.before, culprit.after) == (truth[culprit.parent], truth[culprit.commit])
    assert (shown["m"].branch_change, shown["m"].own_change) == (-22_000, 5_000)
    assert sum(culprit.own_change for culprit in answer.culprits) == truth["m"] - truth["c0"]


def test_a_merge_that_no_branch_explains_is_the_culprit_itself():
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="b1", parents=("c0",)),
        Node(commit="m", parents=("c1", "b1")),
    )
    answer, _ = lead(search_exact_metric, ask(nodes), {"c0": 1, "c1": 1, "b1": 1, "m": 9})
    assert [culprit.commit for culprit in answer.culprits] == ["m"]


def test_ends_that_do_not_differ_are_refused_with_the_numbers():
    nodes = line(10)
    answer, seen = lead(search_exact_metric, ask(nodes), levels(nodes, {}))
    assert isinstance(answer, Refused)
    assert "good 100, bad 100" in answer.sentence
    assert len(seen) == 2


def test_a_difference_that_does_not_matter_is_refused():
    nodes = line(10)
    answer, _ = lead(search_exact_metric, ask(nodes, min_difference=5), levels(nodes, {"c3": 4}))
    assert isinstance(answer, Refused)
    assert "less than 5" in answer.sentence


def test_an_end_that_cannot_be_measured_and_one_that_does_not_descend_are_refused():
    nodes = line(10)
    answer, _ = lead(search_exact_metric, ask(nodes), levels(nodes, {"c3": 4}), {"c10"})
    assert isinstance(answer, Refused)
    assert "c10, could not be built" in answer.sentence
    assert isinstance(search_exact_metric(Question(good="x", bad="c10", commits=nodes), []), Refused)


def test_the_question_survives_as_text():
    nodes = line(3)
    assert Question.model_validate_json(ask(nodes).model_dump_json()) == ask(nodes)


def test_culprits_lie_in_the_range_only():
    """A branch that has taken the main line in brings its changes along; they are not the merge's."""
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="c2", parents=("c1",)),
        Node(commit="b1", parents=("c0",)),
        Node(commit="b2", parents=("b1", "c2")),
        Node(commit="b3", parents=("b2",)),
        Node(commit="m", parents=("c2", "b3")),
    )
    truth = levels(nodes, {"c1": 3, "b3": 5})
    assert "c1" in ancestors(nodes)["b2"]
    answer, _ = lead(search_exact_metric, ask(nodes), truth)
    assert [culprit.commit for culprit in answer.culprits] == ["c1", "b3"]


def test_a_branch_that_started_before_the_good_end_is_searched_within_the_range():
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="b1", parents=("before",)),
        *(Node(commit=f"b{place}", parents=(f"b{place - 1}",)) for place in range(2, 40)),
        Node(commit="m", parents=("c1", "b39")),
        Node(commit="c2", parents=("m",)),
    )
    lacking = {f"b{place}": 95 for place in range(1, 40)}
    truth = {"c0": 100, "c1": 100, **lacking, "m": 107, "c2": 107}
    truth |= {f"b{place}": 102 for place in range(17, 40)}
    answer, seen = lead(search_exact_metric, ask(nodes), truth)
    assert [(culprit.commit, culprit.candidates) for culprit in answer.culprits] == [("b17", ("b17",))]
    assert len(seen) <= 2 * log2(len(nodes)) + 4


def test_the_first_commit_of_an_older_branch_and_its_merge_are_named_together():
    nodes = (
        Node(commit="c1", parents=("c0",)),
        Node(commit="b1", parents=("before",)),
        Node(commit="b2", parents=("b1",)),
        Node(commit="m", parents=("c1", "b2")),
    )
    answer, _ = lead(search_exact_metric, ask(nodes), {"c0": 100, "c1": 100, "b1": 107, "b2": 107, "m": 107})
    assert [culprit.candidates for culprit in answer.culprits] == [("b1", "m")]


def test_a_metric_that_moves_everywhere_is_refused_within_the_budget():
    nodes = line(1000)
    truth = {f"c{place}": place * 7919 % 101 for place in range(1001)}
    answer, seen = lead(search_exact_metric, ask(nodes), truth)
    assert isinstance(answer, Refused)
    assert answer.sentence.startswith("Not proven: the metric moves at more than 16 places")
    assert len(seen) <= 16 * (2 * log2(1000) + 4)


def test_a_metric_that_moves_everywhere_is_refused_at_once_if_every_commit_is_measured_already():
    nodes = line(300)
    question = ask(nodes)
    for level_of in (lambda place: place * 7919 % 101, lambda place: place % 2 if place < 300 else 5):
        seen = [Observation(commit=f"c{place}", value=level_of(place)) for place in range(301)]
        started = process_time()
        answer = search_exact_metric(question, seen)
        assert isinstance(answer, Refused)
        assert answer.sentence.startswith("Not proven: the metric moves at more than 16 places")
        assert process_time() - started < 5  # it took half a minute while it looked for every one of them


def test_changes_that_do_not_matter_add_up_to_no_culprit():
    levels = [1000, 1030, 1030, 1035, 1035, 1038, 1038, 1040, 1044, 1044, 1040, 1040, 1037, 1040, 1060]
    truth = {f"c{place}": level for place, level in enumerate(levels)}
    question = Question(good="c0", bad="c14", commits=line(14), min_difference=10)
    seen = [Observation(commit=commit, value=level) for commit, level in truth.items()]
    for known in (seen, seen[:1] + seen[6:8] + seen[-1:]):
        answer, _ = lead(
            lambda *asked, known=known: search_exact_metric(asked[0], [*known, *asked[1]]), question, truth
        )
        assert isinstance(answer, Found)
        assert {culprit.commit: culprit.own_change for culprit in answer.culprits} == {"c1": 30, "c14": 20}


@given(st.integers(2, 14), st.data())
def test_each_culprit_moves_the_metric_by_what_matters_if_all_commits_drift_a_little(length, data):
    nodes = line(length)
    small = {f"c{place}": data.draw(st.integers(-4, 4)) for place in range(1, length + 1)}
    steps = small | {f"c{data.draw(st.integers(1, length))}": data.draw(st.sampled_from([12, 40, -60]))}
    truth = levels(nodes, steps)
    question = Question(good="c0", bad=f"c{length}", commits=nodes, min_difference=10)
    answer, _ = lead(search_exact_metric, question, truth)
    culprits = answer.culprits if isinstance(answer, Found) else ()
    assert {culprit.commit: culprit.own_change for culprit in culprits}.items() <= {
        commit: size for commit, size in steps.items() if abs(size) >= 10
    }.items()
    if isinstance(answer, Found):
        assert culprits


def test_smaller_changes_that_add_up_are_refused_with_the_numbers():
    truth = {f"c{place}": 100 + 6 * place for place in range(3)}
    answer, _ = lead(search_exact_metric, Question(good="c0", bad="c2", commits=line(2), min_difference=10), truth)
    assert isinstance(answer, Refused)
    assert answer.sentence == (
        "The two ends of the range differ (good 100, bad 112), but no commit was found that moves the metric by 10 or "
        "more, the smallest difference that matters: smaller changes may add up to the difference."
    )


def test_ends_that_differ_by_less_than_matters_are_refused_with_the_limit():
    question = Question(good="c0", bad="c1", commits=line(1), min_difference=10)
    answer, _ = lead(search_exact_metric, question, {"c0": 100, "c1": 106})
    assert isinstance(answer, Refused)
    assert answer.sentence == "The two ends of the range differ by less than 10: good 100, bad 106."
