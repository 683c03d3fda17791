"""Decides, only from the drifts, when an event was resolved and when it came back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.rules.events.grouping import DriftGroup, LocatedDrift
from service.schemas.history import Number
from service.schemas.triage import Action

MAX_RETURN_ERROR = 0.05
"""A drift returns to a former level if it ends no further from it than this share of the step away from this level."""
MAX_RETURN_ERROR_IN_NOISE = 0.25
"""The same share if the difference is within the noise, because levels of noisy series are known less precisely."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The drift by which an event was resolved (fix) or came back (reopen)."""

    action: Action
    drift: LocatedDrift


class Resolutions:
    """The drifts that undid and repeated each step of some series; cached, because many events ask for one step."""

    def __init__(self, drifts: Iterable[LocatedDrift]) -> None:
        """Take the drifts of all series."""
        self._series: dict[int | str, list[LocatedDrift]] = defaultdict(list)
        for drift in sorted(drifts, key=lambda drift: drift.order):
            self._series[drift.series].append(drift)
        self._transitions_of_step: dict[str, tuple[Transition, ...]] = {}

    def list_transitions_of_step(self, step: LocatedDrift) -> tuple[Transition, ...]:
        """Return the drifts of a series that undid and repeated a step, in alternation."""
        if step.drift_id not in self._transitions_of_step:
            self._transitions_of_step[step.drift_id] = tuple(
                _find_fixes_and_recurrences(step, self._series.get(step.series, ()))
            )
        return self._transitions_of_step[step.drift_id]


def list_transitions(members: Iterable[LocatedDrift], resolutions: Resolutions) -> list[Transition]:
    """Return when an event was resolved and when it came back, in the order of the history.

    An event is resolved once it is undone in all of its series, and comes back as soon as it recurs in one of them. An
    improvement is never resolved.

    Parameters
    ----------
    members
        The drifts of the event.
    """
    first_drifts = _map_first_drifts_by_series(members)
    affected_series = set(first_drifts)
    event_transitions: list[Transition] = []
    for transition in _list_transitions_in_order(first_drifts, resolutions):
        if transition.action is Action.FIX:
            affected_series.discard(transition.drift.series)
            if not affected_series:
                event_transitions.append(transition)
        else:
            if not affected_series:
                event_transitions.append(transition)
            affected_series.add(transition.drift.series)
    return event_transitions


def does_event_return(group: DriftGroup, members: Iterable[LocatedDrift], resolutions: Resolutions) -> bool:
    """Return whether an event comes back with a group of drifts: after it was resolved, all of them repeat it."""
    members = tuple(members)
    group = tuple(drift for drift in group if not drift.is_suite_shift)
    transitions = _list_transitions_in_order(_map_first_drifts_by_series(members), resolutions)
    repeating_drifts = {transition.drift.drift_id for transition in transitions if transition.action is Action.REOPEN}
    if not all(drift.drift_id in repeating_drifts for drift in group):
        return False
    reopening_drifts = {
        transition.drift.drift_id
        for transition in list_transitions(members, resolutions)
        if transition.action is Action.REOPEN
    }
    return any(drift.drift_id in reopening_drifts for drift in group)


def _list_transitions_in_order(
    first_drifts: Mapping[int | str, LocatedDrift], resolutions: Resolutions
) -> list[Transition]:
    """Return the fixes and recurrences of each series' first drift, in the order of the history."""
    transitions = [
        transition for step in first_drifts.values() for transition in resolutions.list_transitions_of_step(step)
    ]
    return sorted(transitions, key=lambda transition: transition.drift.order)


def _find_fixes_and_recurrences(step: LocatedDrift, drifts: Iterable[LocatedDrift]) -> Iterator[Transition]:
    """Yield, in alternation, a fix for the drift that undoes a step, and a recurrence for the drift that repeats it.

    Parameters
    ----------
    drifts
        All drifts of the step's series in order, with the step itself.
    """
    remaining_regressions: list[LocatedDrift] = []
    undoing_drift: LocatedDrift | None = None
    for drift in drifts:
        if not drift.worse:
            regressions_after_drift = _list_remaining_regressions(remaining_regressions, drift)
            if step in remaining_regressions and step not in regressions_after_drift:
                undoing_drift = drift
                yield Transition(Action.FIX, drift)
            remaining_regressions = regressions_after_drift
        # A drift repeats the step if it leads as far from the level after the fix as the step did from its level.
        elif undoing_drift is not None and _is_near(
            drift.after, undoing_drift.after + (step.after - step.before), step
        ):
            undoing_drift = None
            remaining_regressions.append(step)
            yield Transition(Action.REOPEN, drift)
        else:
            remaining_regressions.append(drift)


def _list_remaining_regressions(regressions: Sequence[LocatedDrift], improvement: LocatedDrift) -> list[LocatedDrift]:
    """Return the regressions of a series that remain after an improvement.

    The level is not enough to decide: after a large step is undone, the level is better than before each later, smaller
    step, although these remain. So an improvement undoes the newest step of its own size; if there is none, the newest
    steps together if it leads back to the level before them; otherwise all steps if it leads to a better level than
    before the first of them.
    """
    for index in reversed(range(len(regressions))):
        step = regressions[index]
        if _is_near(improvement.before - improvement.after, step.after - step.before, step):
            return [*regressions[:index], *regressions[index + 1 :]]
    for index in reversed(range(len(regressions))):
        if _is_near(improvement.after, regressions[index].before, regressions[index]):
            return list(regressions[:index])
    if regressions:
        first_step = regressions[0]
        is_lower_better = first_step.before < first_step.after
        if (improvement.after < first_step.before) == is_lower_better:
            return []
    return list(regressions)


def _is_near(level: Number, other_level: Number, step: LocatedDrift) -> bool:
    """Return whether two levels or two sizes are equal, within a part of a step's size: a larger one if runs vary."""
    size = abs(step.after - step.before)
    return abs(level - other_level) <= max(MAX_RETURN_ERROR * size, min(MAX_RETURN_ERROR_IN_NOISE * size, step.spread))


def _map_first_drifts_by_series(members: Iterable[LocatedDrift]) -> dict[int | str, LocatedDrift]:
    """Return the first regression of each series; a shift of a whole suite has no levels to which it could return."""
    first_drifts: dict[int | str, LocatedDrift] = {}
    for drift in sorted(members, key=lambda drift: drift.order):
        if drift.worse and not drift.is_suite_shift:
            first_drifts.setdefault(drift.series, drift)
    return first_drifts
