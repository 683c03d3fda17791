from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.automatic_decisions import build_certainty_entry, decide_automatically
from service.rules.events.fixed_and_reopened import Transition
from service.rules.events.lifecycle import LogEntry, find_state_after, get_next_state
from service.schemas.history import Cause
from service.schemas.triage import Action, State
from tests.service.rules.events.made_drifts import located_drift

UNITS: dict[int | str, str] = {1: "faults"}


def transition(action: Action, commit: str) -> Transition:
    return Transition(action, located_drift("x", revision=commit))


def test_the_service_says_once_that_it_is_fixed() -> None:
    over = [transition(Action.FIX, "c7")]
    (fixed,) = decide_automatically([], over, UNITS)
    assert (fixed.action, fixed.commit, fixed.by_service) == (Action.FIX, "c7", True)
    assert decide_automatically([fixed], over, UNITS) == []


def test_the_service_says_by_which_step_between_which_levels() -> None:
    undone = Transition(Action.FIX, located_drift("b", 1, 7, before=21624, after=5240))
    again = Transition(Action.REOPEN, located_drift("c", 2, 9, before=4.25, after=1234.5, cause=Cause.CONFIG))
    resolved = [entry.reason for entry in decide_automatically([], [undone, again], {1: "faults", 2: "%"})]
    assert resolved == [
        "Undone: 21,624 → 5,240 faults.",
        "The change came back: 4.25 → 1,234.5 %, by a configuration change.",
    ]


def test_what_people_decided_stands() -> None:
    over = [transition(Action.FIX, "c7"), transition(Action.REOPEN, "c9")]
    for action in (Action.EXPECT, Action.DISMISS):
        assert decide_automatically([LogEntry(action, by_service=False)], over, UNITS) == []
    taken_back = [LogEntry(Action.FIX, True, commit="c7"), LogEntry(Action.REOPEN, by_service=False)]
    assert decide_automatically(taken_back, over[:1], UNITS) == []


def test_a_fix_that_is_found_at_another_commit_later_is_told_again_and_one_that_is_gone_is_taken_back() -> None:
    log = [LogEntry(Action.FIX, True, commit="c7")]
    assert [entry.commit for entry in decide_automatically(log, [transition(Action.FIX, "c6")], UNITS)] == ["c6"]
    assert [entry.action for entry in decide_automatically(log, [], UNITS)] == [Action.REOPEN]
    assert decide_automatically([LogEntry(Action.FIX, by_service=False, commit="c7")], [], UNITS) == []


def test_an_event_that_is_fixed_and_comes_back_twice_at_one_commit_is_fixed_in_the_end() -> None:
    """The configuration can change several times while no commit follows."""
    fixed, again = transition(Action.FIX, "c7"), transition(Action.REOPEN, "c7")
    log: list[LogEntry] = []
    for n_transitions in range(1, 6):
        log += decide_automatically(log, [fixed, again, fixed, again, fixed][:n_transitions], UNITS)
        assert [entry.action for entry in log] == ([Action.FIX, Action.REOPEN] * 3)[:n_transitions]
    assert find_state_after(log) is State.FIXED
    assert decide_automatically(log, [fixed, again, fixed, again, fixed], UNITS) == []


@given(st.sampled_from(State), st.booleans(), st.booleans(), st.lists(st.text(min_size=1), max_size=3))
def test_what_was_certain_is_withdrawn_once_with_a_reason_and_never_silently(
    state: State, was_certain: bool, is_certain: bool, reasons: list[str]
) -> None:
    entry = build_certainty_entry(state, was_certain=was_certain, is_certain=is_certain, reasons=reasons)
    assert (entry is not None) == ((was_certain and not is_certain) or (is_certain and state is State.WITHDRAWN))
    if entry is not None:
        assert entry.by_service
        assert entry.reason
        assert entry.action is Action.REOPEN or entry.reason.startswith(
            reasons[0] if reasons else "The drifts were detected again"
        )
        after = get_next_state(state, entry.action) or state
        assert build_certainty_entry(after, was_certain=is_certain, is_certain=is_certain, reasons=reasons) is None


logs = st.lists(
    st.builds(
        LogEntry,
        st.sampled_from(Action),
        st.booleans(),
        st.just(""),
        st.sampled_from(["c5", "c6", "c7", None]),
    ),
    max_size=6,
)
alternating = st.integers(0, 5).map(
    lambda n: [transition(Action.REOPEN if place % 2 else Action.FIX, f"c{5 + place}") for place in range(n)]
)


@given(logs, alternating)
def test_following_up_twice_adds_nothing_the_second_time(log: list[LogEntry], turns: list[Transition]) -> None:
    added = decide_automatically(log, turns, UNITS)
    assert all(entry.by_service for entry in added)
    assert decide_automatically([*log, *added], turns, UNITS) == []
    if find_state_after(log) in {State.EXPECTED, State.FALSE_ALARM}:
        assert added == []
