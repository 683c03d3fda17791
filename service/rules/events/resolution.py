"""Decides from the drifts alone when an event was resolved and when it came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.rules.events.grouping import DriftGroup, LocatedDrift
from service.schemas.history import Number
from service.schemas.triage import Action

MAX_RETURN_ERROR = 0.05
"""How far from a former level a drift may end and still return to it, as a share of the step away from it."""
MAX_RETURN_ERROR_IN_NOISE = 0.25
"""The same share within the noise: levels of noisy series are known to a fraction of the smallest detected step."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The drift by which an event was resolved (fix) or came back (reopen)."""

    action: Action
    by: LocatedDrift


class Resolutions:
    """What became of each step of some series. Each step is followed once: many events are compared with it."""

    def __init__(self, series: Mapping[int | str, Sequence[LocatedDrift]]) -> None:
        """Take all current drifts of each series."""
        self._series = {name: sorted(drifts, key=lambda drift: drift.order) for name, drifts in series.items()}
        self._of: dict[str, tuple[Transition, ...]] = {}

    def list_undoing(self, step: LocatedDrift) -> tuple[Transition, ...]:
        """Return the drifts that undo a step of a series and repeat it, in turn."""
        if step.drift_id not in self._of:
            self._of[step.drift_id] = tuple(_list_undoing_drifts(step, self._series.get(step.series, ())))
        return self._of[step.drift_id]


def list_transitions(members: Iterable[LocatedDrift], resolutions: Resolutions) -> list[Transition]:
    """Return when an event was resolved and when it came back, in the order of the history.

    It is resolved once it is undone in each of its series, and comes back as soon as it recurs in one of them. An
    improvement is never resolved.

    Parameters
    ----------
    members
        The drifts of the event.
    """
    first = _map_first_drifts_by_series(members)
    affected = set(first)
    event_transitions: list[Transition] = []
    for transition in _list_transitions_in_order(first, resolutions):
        if transition.action is Action.FIX:
            affected.discard(transition.by.series)
            if not affected:
                event_transitions.append(transition)
        else:
            if not affected:
                event_transitions.append(transition)
            affected.add(transition.by.series)
    return event_transitions


def does_event_return(group: DriftGroup, members: Iterable[LocatedDrift], resolutions: Resolutions) -> bool:
    """Return whether an event comes back with a group of drifts: all of them repeat it, after it was resolved."""
    members = tuple(members)
    group = tuple(drift for drift in group if not drift.is_suite_shift)
    transitions = _list_transitions_in_order(_map_first_drifts_by_series(members), resolutions)
    repeating = {transition.by.drift_id for transition in transitions if transition.action is Action.REOPEN}
    if not all(drift.drift_id in repeating for drift in group):
        return False
    reopening = {
        transition.by.drift_id
        for transition in list_transitions(members, resolutions)
        if transition.action is Action.REOPEN
    }
    return any(drift.drift_id in reopening for drift in group)


def _list_transitions_in_order(first: Mapping[int | str, LocatedDrift], resolutions: Resolutions) -> list[Transition]:
    """Return the fixes and recurrences of each series' first drift, in the order of the history."""
    transitions = [transition for step in first.values() for transition in resolutions.list_undoing(step)]
    return sorted(transitions, key=lambda transition: transition.by.order)


def _list_undoing_drifts(step: LocatedDrift, drifts: Iterable[LocatedDrift]) -> Iterator[Transition]:
    """Yield the drifts of a series, which are given in order, that undo one of its steps and repeat it, in turn."""
    standing: list[LocatedDrift] = []
    undone_by: LocatedDrift | None = None
    for drift in drifts:
        if not drift.worse:
            remaining = _list_remaining(standing, drift)
            if step in standing and step not in remaining:
                undone_by = drift
                yield Transition(Action.FIX, drift)
            standing = remaining
        elif undone_by is not None and _is_near(drift.after, undone_by.after + (step.after - step.before), step):
            undone_by = None
            standing.append(step)
            yield Transition(Action.REOPEN, drift)
        else:
            standing.append(drift)


def _list_remaining(standing: Sequence[LocatedDrift], better: LocatedDrift) -> list[LocatedDrift]:
    """Return the regressions of a series that remain after an improvement.

    The level alone does not decide: when a large step is undone, the level is better than before each smaller step that
    came after it, although these remain. So an improvement undoes the newest step of its own size; or else the newest
    steps together, if it leads back to where they began; or else all steps, if it leads to a level better than before
    any of them.
    """
    for index in reversed(range(len(standing))):
        step = standing[index]
        if _is_near(better.before - better.after, step.after - step.before, step):
            return [*standing[:index], *standing[index + 1 :]]
    for index in reversed(range(len(standing))):
        if _is_near(better.after, standing[index].before, standing[index]):
            return list(standing[:index])
    if standing and (better.after < standing[0].before) == (standing[0].before < standing[0].after):
        return []
    return list(standing)


def _is_near(level: Number, other: Number, step: LocatedDrift) -> bool:
    """Return whether two levels, or two sizes, are equal on the scale of a step."""
    size = abs(step.after - step.before)
    return abs(level - other) <= max(MAX_RETURN_ERROR * size, min(MAX_RETURN_ERROR_IN_NOISE * size, step.spread))


def _map_first_drifts_by_series(members: Iterable[LocatedDrift]) -> dict[int | str, LocatedDrift]:
    """Return the first regression of each series."""
    first: dict[int | str, LocatedDrift] = {}
    for drift in sorted(members, key=lambda drift: drift.order):
        if drift.worse and not drift.is_suite_shift:
            first.setdefault(drift.series, drift)
    return first
