"""The candidates of a drift, against real git."""

import random

import pytest

from bench.verdicts.histories import GitHistory, grow_history
from service.rules.series.candidate_commits import are_all_known, collect_history, find_descent, list_commits_between
from service.text.cause_text import name_candidates


def test_the_candidates_are_what_git_lists(tmp_path):
    random_ = random.Random(5)
    history = grow_history(random_, 60)
    git = GitHistory(tmp_path, history)
    names = list(history.parents)
    for _ in range(20):
        before, after = (names[place] for place in sorted(random_.sample(range(60), 2)))
        assert list_commits_between(history.parents, before, after) == git.rev_list(before, after)
        assert are_all_known(history.parents, before, after)


def test_a_merge_is_not_the_only_candidate_if_the_commit_before_it_was_its_second_parent():
    parents = {"a": [], "b": ["a"], "c": ["b"], "side": ["a"], "merge": ["c", "side"]}
    assert list_commits_between(parents, "side", "merge") == {"b", "c", "merge"}
    assert list_commits_between(parents, "c", "merge") == {"side", "merge"}


def test_commits_that_were_not_sent_are_missed():
    parents = {"a": ["older"], "z": ["y"]}
    assert not are_all_known(parents, "a", "z")
    assert are_all_known({"a": ["older"], "z": ["a"]}, "a", "z")


def test_a_headline_names_a_commit_only_if_it_is_the_only_one():
    assert name_candidates(["a" * 40], "Do it") == "Do it"
    many = [character * 40 for character in "abc"]
    assert name_candidates(many, "Do it") == "one of 3 commits, aaaaaaaaaa…cccccccccc"
    assert "Do it" not in name_candidates(["a" * 40], "Do it", all_known=False)


def test_a_headline_says_first_that_a_change_is_not_confirmed():
    assert name_candidates(["a" * 40], "Do it", confirmed=False) == "suspected: the only candidate is Do it"
    many = [character * 40 for character in "abc"]
    assert name_candidates(many, "Do it", confirmed=False) == "suspected: one of 3 commits, aaaaaaaaaa…cccccccccc"


def test_a_commit_without_known_parents_is_not_taken_for_the_only_candidate():
    assert not are_all_known({"a": [], "z": []}, "a", "z"), "imported without a repository"
    assert not are_all_known({"a": [], "merge": ["a", "side"]}, "a", "merge"), "the side branch was not sent"


def test_a_commit_descends_or_does_not_or_the_clone_ends_before_it_shows() -> None:
    line = {"0": [], "1": ["0"], "2": ["1"], "3": ["2"]}
    assert find_descent(line, "3", "1") is True
    assert find_descent(line, "3", "3") is True
    amended = line | {"3'": ["2"]}
    assert find_descent(amended, "3'", "3") is False
    # Clones of the newest one or two commits: nobody knows the parent of the oldest one.
    shallow = line | {"8": [], "9": ["8"]}
    assert find_descent(shallow, "9", "3") is None
    merged = line | {"8": [], "9": ["8", "1"]}
    assert find_descent(merged, "9", "3") is None
    assert find_descent(line | {"9": ["unsent"]}, "9", "3") is None
    assert find_descent(line, "unsent", "3") is None
    # A range of a full clone: its first commit and a branch that left the main line before it have unknown parents.
    spanned = {"0": ["before"], "1": ["0"], "2": ["1"], "side": ["long before"], "5": ["1", "side"], "2'": ["5"]}
    assert find_descent(spanned, "2'", "2") is False


@pytest.mark.timeout(20)
def test_commits_that_are_their_own_ancestors_end_the_search() -> None:
    assert find_descent({"old": [], "first": ["second"], "second": ["first"]}, "first", "old") is None


def test_without_a_known_parent_the_commits_before_count_as_contained():
    parents = {"a": [], "b": [], "c": ["b"], "side": ["b"], "d": ["c"]}
    assert collect_history(parents, "d") == {"a", "b", "c", "d"}
    assert collect_history(parents, "side") == {"a", "b", "side"}
    assert collect_history(parents, "b") == {"a", "b"}
    assert collect_history({"x": ["unknown"], "y": ["x"]}, "y") == {"x", "y"}
    sparse = {"a": ["unsent"], "b": ["unsent too"], "c": ["b", "merged"]}
    assert collect_history(sparse, "c") == {"a", "b", "c"}, "the commits between two measured ones were not sent"
