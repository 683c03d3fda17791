"""Which states of a job lead to which."""

from __future__ import annotations

import pytest

from runner.contract.job import State
from service.rules.jobs.job_states import Action, JobTransitionError, get_next_state, is_possible


def test_a_job_that_has_ended_stays_as_it_is() -> None:
    for state in State:
        assert any(is_possible(state, action) for action in Action) == state.open


def test_from_every_open_state_there_is_a_way_out() -> None:
    assert all(get_next_state(state, Action.CANCEL) is State.CANCELLED for state in State if state.open)
    assert all(get_next_state(state, Action.FAIL) is State.FAILED for state in State if state.open)


def test_the_way_of_a_job_that_is_paused_and_lost() -> None:
    state = State.QUEUED
    for action, then in (
        (Action.DISPATCH, State.DISPATCHED),
        (Action.CLAIM, State.RUNNING),
        (Action.PAUSE, State.PAUSED),
        (Action.RESUME, State.QUEUED),
        (Action.CLAIM, State.RUNNING),
        (Action.LOSE, State.LOST),
        (Action.AGAIN, State.QUEUED),
        (Action.DISPATCH, State.DISPATCHED),
        (Action.CLAIM, State.RUNNING),
        (Action.DONE, State.DONE),
    ):
        state = get_next_state(state, action)
        assert state is then


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(JobTransitionError, match="a job that is done cannot be paused"):
        get_next_state(State.DONE, Action.PAUSE)
