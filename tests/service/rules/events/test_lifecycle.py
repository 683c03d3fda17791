from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.rules.events.lifecycle import (
    CLOSED,
    OPEN,
    LogEntry,
    find_state_after,
    get_next_state,
    list_allowed_actions,
    list_carried_entries,
)
from service.schemas.triage import Action, EventDirection, State, needs_reason


def log_of(actions: str) -> list[LogEntry]:
    """Return a log of these actions of people; "service" stands for the service that takes its own decision back."""
    return [
        LogEntry(Action.REOPEN, by_service=True) if action == "service" else LogEntry(Action(action), by_service=False)
        for action in actions.split()
    ]


@pytest.mark.parametrize(
    ("actions", "state"),
    [
        ("", State.NEW),
        ("acknowledge", State.ACKNOWLEDGED),
        ("acknowledge fix", State.FIXED),
        ("expect", State.EXPECTED),
        ("dismiss", State.FALSE_ALARM),
        ("fix reopen", State.REOPENED),
        ("fix reopen acknowledge", State.ACKNOWLEDGED),
        ("fix reopen expect", State.EXPECTED),
        ("acknowledge withdraw", State.WITHDRAWN),
        ("withdraw reopen", State.REOPENED),
        ("withdraw service", State.NEW),
        ("acknowledge withdraw service", State.ACKNOWLEDGED),
        ("fix reopen withdraw service", State.REOPENED),
        ("fix service", State.NEW),
        ("expect service", State.REOPENED),
        ("withdraw reopen withdraw service", State.REOPENED),
        ("fix withdraw", State.FIXED),
        ("expect withdraw", State.EXPECTED),
    ],
)
def test_a_life(actions: str, state: State) -> None:
    assert find_state_after(log_of(actions)) is state


def test_an_open_event_cannot_be_reopened_and_a_closed_one_only_that() -> None:
    assert all(Action.REOPEN not in list_allowed_actions(state) for state in OPEN)
    assert all(list_allowed_actions(state) == [Action.REOPEN] for state in CLOSED)


def test_what_closes_against_appearances_or_takes_back_needs_a_reason() -> None:
    assert {action for action in Action if needs_reason(action)} == {Action.EXPECT, Action.DISMISS, Action.REOPEN}


def test_from_every_state_there_is_a_way_on() -> None:
    assert all(list_allowed_actions(state) for state in State)
    assert {get_next_state(state, action) for state, action in product(State, Action)} == {*State, None} - {State.NEW}


def test_a_withdrawal_and_what_takes_it_back_stay_with_their_own_event() -> None:
    log = log_of("acknowledge withdraw service fix service withdraw reopen")
    assert [log[index].action for index in list_carried_entries(log)] == [
        Action.ACKNOWLEDGE,
        Action.FIX,
        Action.REOPEN,
        Action.REOPEN,
    ]
    assert list_carried_entries(log) == [0, 3, 4, 6]


@pytest.mark.parametrize("direction", EventDirection)
def test_what_got_worse_can_be_fixed_even_if_something_else_got_better(direction: EventDirection) -> None:
    can_be_fixed = Action.FIX in list_allowed_actions(State.NEW, direction)
    assert can_be_fixed is (direction is not EventDirection.IMPROVEMENT)


def test_only_the_service_withdraws() -> None:
    assert all(Action.WITHDRAW not in list_allowed_actions(state) for state in State)
    assert {get_next_state(state, Action.WITHDRAW) for state in OPEN} == {State.WITHDRAWN}


@given(st.lists(st.sampled_from(Action)))
def test_random_decisions_lead_where_each_allowed_one_leads(actions: list[Action]) -> None:
    made: list[Action] = []
    state = State.NEW
    for action in actions:
        after = get_next_state(state, action)
        if action is not Action.WITHDRAW:
            assert (after is None) == (action not in list_allowed_actions(state))
        if after is not None:
            made.append(action)
            state = after
        assert find_state_after(log_of(" ".join(made))) is state
    assert state is State.NEW or made


@given(st.lists(st.sampled_from(Action)), st.lists(st.sampled_from(Action)))
def test_where_two_logs_become_one_the_last_word_that_closes_or_reopens_counts(
    first: list[Action], second: list[Action]
) -> None:
    state = find_state_after(log_of(" ".join([*first, *second])))
    closing = [action for action in (*first, *second) if action in {Action.EXPECT, Action.FIX, Action.DISMISS}]
    if second and second[-1] in closing:
        assert state in CLOSED
    if second and second[-1] is Action.REOPEN:
        assert state in OPEN
