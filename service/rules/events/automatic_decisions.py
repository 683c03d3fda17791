"""What the service decides about an event by itself: that it was fixed, and that it came back. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.rules.detect.level_change import format_level
from service.rules.events.lifecycle import next_state, state_after
from service.rules.events.resolution import Transition
from service.schemas.events import Action, State
from service.schemas.history import Cause


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry in the log of an event."""

    action: Action
    by_service: bool
    reason: str = ""
    commit: str | None = None


def new_entries(log: Sequence[LogEntry], turns: Sequence[Transition], units: Mapping[int | str, str]) -> list[LogEntry]:
    """Return what is to be added to the log of an event, given when it was over and came back.

    What people decided stands: an event that is expected or a false alarm is left alone, and what the service has said
    once it doesn't say again.

    Parameters
    ----------
    log
        What was decided about the event, in order.
    turns
        When it was over and came back, in order.
    units
        The unit of each series in which that was.
    """
    added: list[LogEntry] = []

    def state() -> State:
        return state_after(entry.action for entry in (*log, *added))

    said = {(entry.action, entry.commit) for entry in log if entry.by_service}
    told = [place for place, turn in enumerate(turns, start=1) if (turn.action, turn.by.revision) in said]
    for turn in turns[max(told, default=0) :]:
        fits = state() is State.FIXED if turn.action is Action.REOPEN else next_state(state(), turn.action)
        if fits:
            added.append(_told(turn, units))
    last = _last_fix(log)
    if not added and last is not None and state() is State.FIXED:
        if turns and turns[-1].action is Action.FIX:
            if (Action.FIX, turns[-1].by.revision) not in said:
                added.append(_told(turns[-1], units))
        elif (Action.FIX, last.commit) not in {(turn.action, turn.by.revision) for turn in turns}:
            added.append(
                LogEntry(Action.REOPEN, by_service=True, reason="The change that fixed it is no longer found.")
            )
    return added


def _last_fix(log: Sequence[LogEntry]) -> LogEntry | None:
    """Return the last decision that closed an event, if the service made it because it was fixed."""
    closing = [entry for entry in log if entry.action is not Action.ACKNOWLEDGE]
    return closing[-1] if closing and closing[-1].by_service and closing[-1].action is Action.FIX else None


def _told(turn: Transition, units: Mapping[int | str, str]) -> LogEntry:
    levels = f"{format_level(turn.by.before)} → {format_level(turn.by.after)} {units[turn.by.series]}"
    why = "Undone" if turn.action is Action.FIX else "It came back"
    return LogEntry(
        turn.action, by_service=True, reason=f"{why}: {levels}{_BY[turn.by.cause]}.", commit=turn.by.revision
    )


_BY = {
    Cause.COMMIT: "",
    Cause.CONFIG: ", by a change of the configuration",
    Cause.BOTH: ", where commit and configuration changed at once",
    Cause.UNKNOWN: ", for an unknown cause",
}
