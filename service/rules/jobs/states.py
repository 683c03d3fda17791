"""Defines the states of a job and the transitions between them."""

from __future__ import annotations

from enum import StrEnum

from runner.contract.job import State


class Act(StrEnum):
    """An act on a job, which moves it from one state to another."""

    DISPATCH = "dispatch"
    CLAIM = "claim"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DONE = "done"
    FAIL = "fail"
    LOSE = "lose"
    """Its runner has gone silent, or ended without a report."""
    AGAIN = "again"
    """The job is to be started once more."""


class JobTransitionError(Exception):
    """The requested act is not possible in the job's state."""

    def __init__(self, act: Act, state: State) -> None:
        super().__init__(f"a job that is {state} cannot be {_PARTICIPLES[act]}")
        self.act, self.state = act, state


_PARTICIPLES = {
    Act.DISPATCH: "dispatched",
    Act.CLAIM: "claimed",
    Act.PAUSE: "paused",
    Act.RESUME: "resumed",
    Act.CANCEL: "cancelled",
    Act.DONE: "finished",
    Act.FAIL: "given up",
    Act.LOSE: "lost",
    Act.AGAIN: "ordered again",
}

_END_STATES = {Act.CANCEL: State.CANCELLED, Act.FAIL: State.FAILED}
_STARTED_MOVES = {Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, Act.LOSE: State.LOST, Act.AGAIN: State.QUEUED}
_MOVES: dict[State, dict[Act, State]] = {
    State.QUEUED: {Act.DISPATCH: State.DISPATCHED, Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, **_END_STATES},
    State.DISPATCHED: {**_STARTED_MOVES, **_END_STATES},
    # The host that holds the job claims it again: its runner was ended, and this is the next one.
    State.RUNNING: {**_STARTED_MOVES, Act.DONE: State.DONE, **_END_STATES},
    # A runner that finishes before it learns of the pause is done nevertheless.
    State.PAUSED: {Act.RESUME: State.QUEUED, Act.DONE: State.DONE, **_END_STATES},
    State.LOST: {Act.AGAIN: State.QUEUED, Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, **_END_STATES},
    State.DONE: {},
    State.FAILED: {},
    State.CANCELLED: {},
}


def get_next_state(state: State, act: Act) -> State:
    """Return the state that an act leads to.

    Raises
    ------
    JobTransitionError
        If the act is not possible in this state.
    """
    try:
        return _MOVES[state][act]
    except KeyError:
        raise JobTransitionError(act, state) from None


def is_possible(state: State, act: Act) -> bool:
    """Return whether an act is possible in a state."""
    return act in _MOVES[state]
