from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from service.rules.series.commit_order import Commit, order_continuation, sort_commits_by_history

DAY_0 = datetime(2025, 1, 1, tzinfo=UTC)


def commit(name: str, *parents: str, day: int = 0) -> Commit:
    return Commit(name, parents, DAY_0 + timedelta(days=day))


@st.composite
def histories(draw: st.DrawFn) -> list[Commit]:
    """Commits with merges, roots and dates that lie."""
    count = draw(st.integers(0, 12))
    return [
        commit(
            f"{number:02d}",
            *draw(st.lists(st.sampled_from([f"{parent:02d}" for parent in range(number)]), max_size=2, unique=True))
            if number
            else (),
            day=draw(st.integers(0, 3)),
        )
        for number in range(count)
    ]


@given(histories(), st.randoms(use_true_random=False))
def test_the_order_depends_on_the_commits_only(history: list[Commit], random: object) -> None:
    shuffled = list(history)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert sort_commits_by_history(shuffled) == sort_commits_by_history(history)


@given(histories())
def test_parents_come_before_their_children_whatever_the_dates_say(history: list[Commit]) -> None:
    place = {name: index for index, name in enumerate(sort_commits_by_history(history))}
    assert len(place) == len(history)
    for entry in history:
        assert all(place[parent] < place[entry.commit] for parent in entry.parents)


def test_branches_are_ordered_by_date_then_by_hash() -> None:
    root, late, early = commit("r"), commit("a", "r", day=2), commit("b", "r", day=1)
    same_day, merge = commit("c", "r", day=1), commit("m", "a", "b", "c", day=0)
    assert sort_commits_by_history([merge, late, same_day, early, root]) == ["r", "b", "c", "a", "m"]


def test_a_parent_that_is_not_known_has_no_say() -> None:
    assert sort_commits_by_history([commit("b", "unknown", day=1), commit("a", "b", day=0)]) == ["b", "a"]


def test_commits_that_are_their_own_ancestors_are_not_lost() -> None:
    assert sort_commits_by_history([commit("x", "y"), commit("y", "x"), commit("z", "z"), commit("a")]) == [
        "a",
        "x",
        "y",
        "z",
    ]


@given(histories(), st.data())
def test_commits_that_continue_a_history_come_where_the_whole_order_has_them(
    history: list[Commit], data: st.DataObject
) -> None:
    new = data.draw(st.sets(st.sampled_from(history), max_size=4)) if history else set()
    old = [entry for entry in history if entry not in new]
    before = sort_commits_by_history(old)
    children = {entry.commit for entry in old if {one.commit for one in new} & set(entry.parents)}
    order = order_continuation(before[-1], new) if before else None
    if order is not None and not children:
        assert before + order == sort_commits_by_history(history)


def test_children_of_the_last_commit_continue_a_history() -> None:
    one, two, merge = commit("b", "tip", day=-5), commit("a", "b", day=-9), commit("m", "a", "known", day=-7)
    assert order_continuation("tip", [merge, one, two]) == ["b", "a", "m"]
    assert order_continuation("tip", []) == []


def test_other_commits_do_not_continue_a_history() -> None:
    one, two = commit("a", "tip"), commit("b", "tip")
    assert order_continuation("tip", [one, two]) is None
    assert order_continuation("other", [one]) is None
    assert order_continuation("tip", [one, commit("c", "unknown")]) is None
    assert order_continuation("tip", [commit("x", "tip", "y"), commit("y", "x")]) is None
