"""Defines the states of a job and the transitions between them."""

from __future__ import annotations

from enum import StrEnum

from runner.contract.job import State


class Action(StrEnum):
    """An action on a job, which moves it from one state to another."""

    DISPATCH = "dispatch"
    CLAIM = "claim"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DONE = "done"
    FAIL = "fail"
    LOSE = "lose"
    """Its runner no longer responds, or ended without a report."""
    AGAIN = "again"
    """The job is to be started once more."""


class JobTransitionError(Exception):
    """The requested action is not possible in the job's state."""

    def __init__(self, action: Action, state: State) -> None:
        super().__init__(f"a job that is {state} cannot be {_PARTICIPLES[action]}")
        self.action, self.state = action, state


_PARTICIPLES = {
    Action.DISPATCH: "dispatched",
    Action.CLAIM: "claimed",
    Action.PAUSE: "paused",
    Action.RESUME: "resumed",
    Action.CANCEL: "cancelled",
    Action.DONE: "finished",
    Action.FAIL: "given up",
    Action.LOSE: "lost",
    Action.AGAIN: "ordered again",
}

_END_STATES = {Action.CANCEL: State.CANCELLED, Action.FAIL: State.FAILED}
_STARTED_MOVES = {
    Action.CLAIM: State.RUNNING,
    Action.PAUSE: State.PAUSED,
    Action.LOSE: State.LOST,
    Action.AGAIN: State.QUEUED,
}
_TRANSITIONS: dict[State, dict[Action, State]] = {
    State.QUEUED: {
        Action.DISPATCH: State.DISPATCHED,
        Action.CLAIM: State.RUNNING,
        Action.PAUSE: State.PAUSED,
        **_END_STATES,
    },
    State.DISPATCHED: {**_STARTED_MOVES, **_END_STATES},
    # A host may claim the job that it holds once more: its runner was ended, and a new one has started.
    State.RUNNING: {**_STARTED_MOVES, Action.DONE: State.DONE, **_END_STATES},
    # A runner may finish before it learns of the pause; the job is then done.
    State.PAUSED: {Action.RESUME: State.QUEUED, Action.DONE: State.DONE, **_END_STATES},
    State.LOST: {Action.AGAIN: State.QUEUED, Action.CLAIM: State.RUNNING, Action.PAUSE: State.PAUSED, **_END_STATES},
    State.DONE: {},
    State.FAILED: {},
    State.CANCELLED: {},
}


def get_next_state(state: State, action: Action) -> State:
    """Return the state that an action leads to.

    Raises
    ------
    JobTransitionError
        If the action is not possible in this state.
    """
    try:
        return _TRANSITIONS[state][action]
    except KeyError:
        raise JobTransitionError(action, state) from None


def is_possible(state: State, action: Action) -> bool:
    """Return whether an action is possible in a state."""
    return action in _TRANSITIONS[state]
