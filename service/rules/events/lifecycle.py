"""Defines the lifecycle of an event: the decisions that are possible in each state, and the states they lead to."""

from __future__ import annotations

from collections.abc import Iterable

from service.schemas.triage import Action, EventDirection, State

OPEN = frozenset({State.NEW, State.ACKNOWLEDGED, State.REOPENED})
"""States in which somebody still has to act."""
CLOSED = frozenset(State) - OPEN

_NEXT_STATES = {
    Action.ACKNOWLEDGE: (frozenset({State.NEW, State.REOPENED}), State.ACKNOWLEDGED),
    Action.EXPECT: (OPEN, State.EXPECTED),
    Action.FIX: (OPEN, State.FIXED),
    Action.DISMISS: (OPEN, State.FALSE_ALARM),
    Action.REOPEN: (CLOSED, State.REOPENED),
    Action.WITHDRAW: (OPEN, State.WITHDRAWN),
}
_IGNORED_WHEN_CLOSED = frozenset({Action.ACKNOWLEDGE, Action.WITHDRAW})
"""In the log of a closed event, these actions do not change its state."""


def get_next_state(state: State, action: Action) -> State | None:
    """Return the state that a decision leads to; None if it is not possible in this state."""
    allowed_states, next_state = _NEXT_STATES[action]
    return next_state if state in allowed_states else None


def list_allowed_actions(state: State, direction: EventDirection = EventDirection.REGRESSION) -> list[Action]:
    """Return the decisions that a person can make about an event in a state; an improvement cannot be fixed."""
    excluded_actions = {Action.WITHDRAW} if direction.has_regressions else {Action.WITHDRAW, Action.FIX}
    return [
        action
        for action, (allowed_states, _) in _NEXT_STATES.items()
        if state in allowed_states and action not in excluded_actions
    ]


def find_state_after(actions: Iterable[Action]) -> State:
    """Return the state after a sequence of decisions.

    If two events are merged, so are their decisions. The latest decision that changes the state counts: a decision that
    closes the event may follow another one that closed it for a different reason.
    """
    state = State.NEW
    for action in actions:
        next_state = get_next_state(state, action)
        if next_state is None and state in CLOSED and action not in _IGNORED_WHEN_CLOSED:
            _, next_state = _NEXT_STATES[action]
        state = next_state or state
    return state
