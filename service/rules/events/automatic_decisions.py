"""Makes the automatic decisions about an event: fixed, came back, withdrawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from service.rules.detect.level_change import format_change
from service.rules.events.fixed_and_reopened import Transition
from service.rules.events.lifecycle import LogEntry, find_state_after, get_next_state
from service.schemas.history import Cause
from service.schemas.triage import Action, State


def decide_automatically(
    log: Sequence[LogEntry], transitions: Sequence[Transition], units: Mapping[int | str, str]
) -> list[LogEntry]:
    """Return the entries to add to the log of an event, given when it was resolved and came back.

    Decisions of people take precedence: an event that is expected or a false alarm stays so. The service never repeats
    one of its own decisions.

    Parameters
    ----------
    log
        The decisions about the event, in order.
    transitions
        When it was resolved and came back, in order.
    units
        The unit of each series with a transition.
    """
    new_entries: list[LogEntry] = []

    def find_current_state() -> State:
        return find_state_after((*log, *new_entries))

    # Log the transitions after the last logged one if they are possible in the state of the event.
    n_logged_of_key = Counter((entry.action, entry.commit) for entry in log if entry.by_service)
    n_logged = _count_logged_transitions(transitions, n_logged_of_key)
    for transition in transitions[n_logged:]:
        if transition.action is Action.REOPEN:
            is_possible = find_current_state() is State.FIXED  # events that people closed otherwise stay closed
        else:
            is_possible = get_next_state(find_current_state(), transition.action) is not None
        if is_possible:
            new_entries.append(_build_entry(transition, units))
    # The log may end with a fix that the series no longer show as the last transition.
    standing_fix = _find_standing_fix(log)
    if not new_entries and standing_fix is not None and find_current_state() is State.FIXED:
        if transitions and transitions[-1].action is Action.FIX:
            # The event is still fixed, but another change has fixed it: log this fix.
            if not n_logged_of_key[_get_key(transitions[-1])]:
                new_entries.append(_build_entry(transitions[-1], units))
        # No change fixes the event any more: reopen it. If the logged fix is still among the transitions, the return
        # after it is logged too, and the decisions since then stay.
        elif (Action.FIX, standing_fix.commit) not in {_get_key(transition) for transition in transitions}:
            reason = "It is no longer certain that the event was fixed."
            new_entries.append(LogEntry(Action.REOPEN, by_service=True, reason=reason))
    return new_entries


def _count_logged_transitions(
    transitions: Sequence[Transition], n_logged_of_key: Counter[tuple[Action, str | None]]
) -> int:
    """Return how many transitions at the start are logged, or come before a logged one.

    Several transitions can have the same action and commit, if the configuration changed more than once at a commit:
    the first ones are those that are logged.
    """
    n_seen_of_key: Counter[tuple[Action, str | None]] = Counter()
    n_logged = 0
    for end, transition in enumerate(transitions, start=1):
        key = _get_key(transition)
        n_seen_of_key[key] += 1
        if n_seen_of_key[key] <= n_logged_of_key[key]:
            n_logged = end
    return n_logged


def build_certainty_entry(
    state: State, *, was_certain: bool, is_certain: bool, reasons: Sequence[str]
) -> LogEntry | None:
    """Return the log entry for an event that is no longer certain, or is certain again; None if neither happened.

    The entry is logged in every state, but changes only the state of an open event, because decisions of people take
    precedence.

    Parameters
    ----------
    state
        The state of the event.
    was_certain
        Whether any drift of the event was certain at the previous detection.
    is_certain
        Whether any drift of the event is certain now.
    reasons
        Why each drift of the event is no longer certain, the largest drift first.
    """
    if was_certain and not is_certain:
        reason = reasons[0] if reasons else "The drifts were detected again, and now belong to other events."
        others_clause = f" This is the reason for the largest of {len(reasons):,} drifts." if len(reasons) > 1 else ""
        return LogEntry(Action.WITHDRAW, by_service=True, reason=reason + others_clause)
    if is_certain and state is State.WITHDRAWN:
        return LogEntry(Action.REOPEN, by_service=True, reason="The event is certain again.")
    return None


def _find_standing_fix(log: Sequence[LogEntry]) -> LogEntry | None:
    """Return the service's last decision that the event was fixed; None if a later decision has replaced it."""
    decisions = [entry for entry in log if entry.action not in {Action.ACKNOWLEDGE, Action.WITHDRAW}]
    last_decision = decisions[-1] if decisions else None
    return last_decision if last_decision and last_decision.by_service and last_decision.action is Action.FIX else None


def _get_key(transition: Transition) -> tuple[Action, str | None]:
    return transition.action, transition.drift.revision


def _build_entry(transition: Transition, units: Mapping[int | str, str]) -> LogEntry:
    """Return the log entry for the drift by which an event was fixed or came back."""
    drift = transition.drift
    levels = f"{format_change(drift.before, drift.after)} {units[drift.series]}"
    verb = "Undone" if transition.action is Action.FIX else "The change came back"
    reason = f"{verb}: {levels}{_CAUSE_CLAUSES[drift.cause]}."
    return LogEntry(transition.action, by_service=True, reason=reason, commit=drift.revision)


_CAUSE_CLAUSES = {
    Cause.COMMIT: "",
    Cause.CONFIG: ", by a configuration change",
    Cause.COMMIT_AND_CONFIG: ", at a point where both a commit and the configuration changed",
    Cause.UNKNOWN: ", and the cause is unknown",
}
