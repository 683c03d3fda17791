from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.assemble import AssembledEvents, assemble_events
from service.rules.events.event_matching import KnownEvent, assign_stored_events
from service.rules.events.grouping import LocatedDrift, group_drifts
from service.schemas.history import Cause
from service.schemas.triage import State
from tests.service.rules.events.made_drifts import config, located_drift


def known_of(resolved: AssembledEvents) -> dict[str, KnownEvent]:
    """What is stored after a judging is what the next one knows."""
    return {
        name: KnownEvent(
            [replace(drift, returned=drift.drift_id in resolved.returned_drifts) for drift in members], age
        )
        for age, (name, members) in enumerate(resolved.members.items())
    }


def again(
    before: Iterable[LocatedDrift], after: Iterable[LocatedDrift], states: dict[str, State] | None = None
) -> tuple[dict[str, set[str]], AssembledEvents]:
    """Judge twice; return the events of the first judging, and the second judging."""
    first = assemble_events(list(before), {})
    names = {name: {drift.drift_id for drift in members} for name, members in first.members.items()}
    known = {name: replace(event, state=(states or {}).get(name, State.NEW)) for name, event in known_of(first).items()}
    return names, assemble_events(list(after), known)


def test_an_event_stays_what_it_is_when_a_backfill_names_another_commit() -> None:
    first, second = again([located_drift("a", 1, 4, 9)], [located_drift("b", 1, 5)])
    assert list(second.members) == list(first)


def test_series_that_show_it_later_join() -> None:
    first, second = again(
        [located_drift("a", 1)], [located_drift("a", 1), located_drift("b", 2), located_drift("c", 3, 4, 6)]
    )
    assert list(second.members) == list(first)
    assert second.new_events == []


def test_an_event_that_no_drift_is_found_of_is_known_when_it_is_found_again() -> None:
    first = assemble_events([located_drift("a", 1)], {})
    (name,) = first.members
    gone = {name: KnownEvent(known_of(first)[name].drifts, 0, alive=False)}
    assert assemble_events([], gone).members == {}
    assert list(assemble_events([located_drift("z", 1, 4, 5)], gone).members) == [name]


def test_the_event_of_a_rewritten_commit_moves_to_the_commit_that_carries_the_same_change() -> None:
    before = located_drift("a", 1, 5, change="Ann\nGrow the table")
    (name,) = assemble_events([before], {}).members
    gone = {name: KnownEvent([replace(before, still_detected=False)], 0)}
    after = located_drift("z", 1, 20, change="Ann\nGrow the table")
    assert list(assemble_events([after], gone).members) == [name]
    for other in (
        replace(after, change="Ann\nGrow the cache"),
        replace(after, worse=False),
        replace(after, series=2),
    ):
        assert assemble_events([other], gone).new_events != []


def test_the_event_of_an_amended_commit_moves_by_its_patch_whatever_its_title_is() -> None:
    before = located_drift("a", 1, 5, change="Ann\nGrow", patch="1")
    (name,) = assemble_events([before], {}).members
    gone = {name: KnownEvent([replace(before, still_detected=False)], 0)}
    after = located_drift("z", 1, 20, change="Ann\nGrow the table", patch="1")
    assert list(assemble_events([after], gone).members) == [name]
    for other in (replace(after, patch="2"), replace(after, patch=""), replace(after, worse=False)):
        assert assemble_events([other], gone).new_events != []


def test_the_events_of_commits_with_one_title_follow_their_patches_when_they_are_reordered() -> None:
    before = [located_drift(f"a{patch}", 1, 4 + patch, change="Ann\nwip", patch=f"{patch}") for patch in (1, 2, 3)]
    names = {drift.patch: name for name, (drift,) in assemble_events(before, {}).members.items()}
    gone = {
        names[drift.patch]: KnownEvent([replace(drift, still_detected=False)], age)
        for age, drift in enumerate(reversed(before))
    }
    # The first is dropped, the second is last now, and the third was squashed with a new one: its patch is another.
    after = [
        located_drift("z4", 1, 20, change="Ann\nwip", patch="4"),
        located_drift("z2", 1, 21, change="Ann\nwip", patch="2"),
    ]
    assembled = assemble_events(after, {name: event for name, event in gone.items() if name != names["1"]})
    assert [drift.drift_id for drift in assembled.members[names["2"]]] == ["z2"]
    assert [drift.drift_id for drift in assembled.members[names["3"]]] == ["z4"], "by its author and title"
    assembled = assemble_events(after[1:], gone)
    assert (list(assembled.members), assembled.merged_into) == ([names["2"]], {}), (
        "the events of the others are their own"
    )


def test_a_commit_of_the_same_title_is_another_while_the_first_is_still_found() -> None:
    first = located_drift("a", 1, 5, change="Ann\nUpdate")
    names, second = again([first], [first, located_drift("z", 1, 20, change="Ann\nUpdate")])
    assert set(names) < set(second.members)


def test_both_that_is_split_becomes_two_events_and_the_new_one_comes_from_the_old() -> None:
    both = located_drift("a", 1, 6, cause=Cause.COMMIT_AND_CONFIG, detail="setting", since=5, until=6)
    parts = [located_drift("b", 1, 6, since=6, until=8), config("c", 1, 5, 8, first=5)]
    first, second = again([both], parts)
    (old,) = first
    assert old in second.members
    (new,) = second.new_events
    assert second.origins[new] == [old]


def test_two_events_that_turn_out_to_be_one_are_merged() -> None:
    first, second = again(
        [located_drift("a", 1, 3), located_drift("b", 2, 9)], [located_drift("a", 1, 3, 9), located_drift("b", 2, 3, 9)]
    )
    (kept,) = second.members
    assert second.merged_into == {name: kept for name in first if name != kept}


def test_an_event_that_came_back_takes_all_its_drifts_along_when_it_is_merged() -> None:
    back = located_drift("back", 1, 12, returned=True)
    known = {
        "older": KnownEvent([located_drift("b", 2, 6)], 0),
        "newer": KnownEvent([located_drift("a", 1, 5), back], 1, state=State.REOPENED),
    }
    over = located_drift("over", 1, 9, before=150, after=100)
    found = assemble_events([located_drift("a", 1, 5, 6), located_drift("b", 2, 5, 6), over, back], known)
    assert found.merged_into == {"newer": "older"}
    assert {drift.drift_id for drift in found.members["older"]} == {"a", "b", "back"}
    assert "newer" not in found.members
    assert found.returned_drifts == {"back"}


def test_an_event_whose_drifts_join_those_with_which_another_came_back_is_merged_into_it() -> None:
    back = located_drift("back", 1, 11, returned=True)
    known = {
        "returned": KnownEvent([located_drift("a", 1, 5), back], 0, state=State.REOPENED),
        "joined": KnownEvent([located_drift("b", 2, 12)], 1, state=State.ACKNOWLEDGED),
    }
    over = located_drift("over", 1, 8, before=150, after=100)
    wide = [located_drift("back", 1, 11, 12, returned=True), located_drift("b", 2, 11, 12)]
    found = assemble_events([located_drift("a", 1, 5), over, *wide], known)
    assert found.merged_into == {"joined": "returned"}
    assert {drift.drift_id for drift in found.members["returned"]} == {"a", "back", "b"}


def test_what_comes_back_after_it_was_over_is_the_same_event() -> None:
    drifts = [located_drift("a"), located_drift("b", 1, 7, before=150, after=100), located_drift("c", 1, 9)]
    resolved = assemble_events(drifts, {})
    assert [[drift.drift_id for drift in members] for members in resolved.members.values()] == [["a", "c"], ["b"]]
    assert resolved.returned_drifts == {"c"}
    _, second = again(drifts, drifts)
    assert second.returned_drifts == {"c"}
    assert second.new_events == []


@pytest.mark.parametrize("shift", ["bb", "z"], ids=["first", "last"])
def test_what_comes_back_with_a_shift_of_the_whole_suite_is_the_same_event(shift: str) -> None:
    fixed = [located_drift("a"), located_drift("b", 1, 7, before=150, after=100)]
    suite_shift = replace(located_drift(shift, 1, 9), series=shift)
    _, second = again(fixed, [*fixed, located_drift("c", 1, 9), suite_shift])
    assert second.new_events == []
    assert second.returned_drifts == {"c", shift}


def test_a_suspicion_neither_resolves_an_event_nor_reopens_it_but_belongs_to_it() -> None:
    step = located_drift("a")
    back = located_drift("b", 1, 7, before=150, after=100)
    again_worse = located_drift("c", 1, 9)

    def list_actions(*drifts: LocatedDrift) -> list[str]:
        assembled = assemble_events(drifts, {})
        assert len(assembled.members) == 2, "the drift that comes back belongs to the event of the step"
        (event,) = (name for name, members in assembled.members.items() if members[0].drift_id == "a")
        return [transition.action.value for transition in assembled.transitions[event]]

    assert list_actions(step, back, again_worse) == ["fix", "reopen"]
    assert list_actions(step, replace(back, is_certain=False), again_worse) == []
    assert list_actions(step, back, replace(again_worse, is_certain=False)) == ["fix"]
    assert list_actions(replace(step, is_certain=False), back) == []


def test_what_comes_back_after_it_was_expected_is_another_event() -> None:
    fixed = [located_drift("a"), located_drift("b", 1, 7, before=150, after=100)]
    (event, *_) = assemble_events(fixed, {}).members
    _, second = again(fixed, [*fixed, located_drift("c", 1, 9)], {event: State.EXPECTED})
    assert len(second.new_events) == 1
    assert second.returned_drifts == set()


def test_another_drift_of_the_same_series_is_another_event() -> None:
    resolved = assemble_events(
        [located_drift("a"), located_drift("b", 1, 7, before=150, after=100), located_drift("c", 1, 9, after=400)], {}
    )
    assert len(resolved.members) == 3


steps = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 40)), unique=True, min_size=1, max_size=20)


@given(steps, st.randoms())
def test_nothing_is_lost_when_every_drift_is_found_with_another_id(
    places: list[tuple[int, int]],
    chance: st.randoms,  # type: ignore[valid-type]
) -> None:
    spaced = [(series, 10 * position) for series, position in places]
    before = [located_drift(f"{series}/{position}", series, position - 3, position) for series, position in spaced]
    renamed = [
        located_drift(f"new/{drift.drift_id}", int(drift.series), drift.first + chance.randrange(3), drift.last)  # type: ignore[attr-defined]
        for drift in before
    ]
    names, second = again(before, renamed)
    names_after = {
        name: {drift.drift_id.removeprefix("new/") for drift in members} for name, members in second.members.items()
    }
    assert names_after == names
    assert (second.new_events, second.merged_into) == ([], {})


@given(steps, steps)
def test_each_group_has_one_event_and_each_event_one_group(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    first = assemble_events([located_drift(f"a/{s}/{p}", s, max(1, p - 2), p) for s, p in before], {})
    groups = group_drifts(located_drift(f"b/{s}/{p}", s, max(1, p - 1), p) for s, p in after)
    carried = assign_stored_events(groups, known_of(first))
    kept = [event for event in carried.events if event is not None]
    assert len(kept) == len(set(kept))
    assert not set(carried.merged) & set(kept)
    assert set(carried.merged.values()) <= set(kept)
    assert all(carried.events[number] is None for number in carried.origins)
