"""The states of a job, and what leads from one to another. Pure."""

from __future__ import annotations

from enum import StrEnum

from runner.contract.job import State


class Act(StrEnum):
    """What happens to a job."""

    DISPATCH = "dispatch"
    CLAIM = "claim"
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    DONE = "done"
    FAIL = "fail"
    LOSE = "lose"
    """Its runner is not heard of, or has ended without a word."""
    AGAIN = "again"
    """It is to be started once more."""


class JobTransitionError(Exception):
    """What was asked for cannot happen to a job in its state."""

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

_ENDS = {Act.CANCEL: State.CANCELLED, Act.FAIL: State.FAILED}
_STARTED = {Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, Act.LOSE: State.LOST, Act.AGAIN: State.QUEUED}
_MOVES: dict[State, dict[Act, State]] = {
    State.QUEUED: {Act.DISPATCH: State.DISPATCHED, Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, **_ENDS},
    State.DISPATCHED: {**_STARTED, **_ENDS},
    # Claimed once more by the host that has it: its runner was ended, and here is the next one.
    State.RUNNING: {**_STARTED, Act.DONE: State.DONE, **_ENDS},
    # A runner that was done before it heard of the pause is done all the same.
    State.PAUSED: {Act.RESUME: State.QUEUED, Act.DONE: State.DONE, **_ENDS},
    State.LOST: {Act.AGAIN: State.QUEUED, Act.CLAIM: State.RUNNING, Act.PAUSE: State.PAUSED, **_ENDS},
    State.DONE: {},
    State.FAILED: {},
    State.CANCELLED: {},
}


def next_state(state: State, act: Act) -> State:
    """Return the state that something leads to.

    Raises
    ------
    NotPossibleError
        Where it cannot happen.
    """
    try:
        return _MOVES[state][act]
    except KeyError:
        raise JobTransitionError(act, state) from None


def is_possible(state: State, act: Act) -> bool:
    """Whether something can happen to a job in a state."""
    return act in _MOVES[state]
