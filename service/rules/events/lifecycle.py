"""Defines the lifecycle of an event: the decisions that are possible in each state, and the states they lead to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from service.schemas.triage import Action, EventDirection, State

OPEN = frozenset({State.NEW, State.ACKNOWLEDGED, State.REOPENED})
"""States in which somebody still has to act."""
CLOSED = frozenset(State) - OPEN

_CLOSED_BY_SERVICE = frozenset({State.FIXED, State.WITHDRAWN})
"""States to which the service sets an event."""

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


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry in the log of an event."""

    action: Action
    by_service: bool
    reason: str = ""
    commit: str | None = None

    @property
    def takes_back(self) -> bool:
        """Whether the service takes back that it closed the event; if a change came back, the entry has a commit."""
        return self.action is Action.REOPEN and self.by_service and self.commit is None


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


def find_state_after(log: Iterable[LogEntry]) -> State:
    """Return the state after a sequence of decisions.

    If two events are merged, so are their decisions. The latest decision that changes the state counts: a decision that
    closes the event may follow another one that closed it for a different reason. If the service takes back that it
    closed the event, the event is in the state in which it was before: nobody else had closed it.
    """
    state = last_open_state = State.NEW
    for entry in log:
        next_state = get_next_state(state, entry.action)
        if next_state is None and state in CLOSED and entry.action not in _IGNORED_WHEN_CLOSED:
            _, next_state = _NEXT_STATES[entry.action]
        if entry.takes_back and state in _CLOSED_BY_SERVICE:
            next_state = last_open_state
        state = next_state or state
        if state in OPEN:
            last_open_state = state
    return state


def list_carried_entries(log: Iterable[LogEntry]) -> list[int]:
    """Return which entries of a log apply to an event that continues its event, or was split off from it.

    A withdrawal does not, nor what takes it back: both are about the drifts of one event only.
    """
    carried_entries = []
    is_withdrawn = False
    for index, entry in enumerate(log):
        if entry.action is Action.WITHDRAW:
            is_withdrawn = True
        elif is_withdrawn and entry.takes_back:
            is_withdrawn = False
        else:
            carried_entries.append(index)
    return carried_entries
