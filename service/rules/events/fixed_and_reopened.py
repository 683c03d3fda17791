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
    drift: LocatedDrift


class Resolutions:
    """Which drifts undid and repeated each step of some series. Computed once a step, as many events ask for it."""

    def __init__(self, series: Mapping[int | str, Sequence[LocatedDrift]]) -> None:
        """Take all current drifts of each series."""
        self._series = {name: sorted(drifts, key=lambda drift: drift.order) for name, drifts in series.items()}
        self._transitions_of_step: dict[str, tuple[Transition, ...]] = {}

    def list_transitions_of_step(self, step: LocatedDrift) -> tuple[Transition, ...]:
        """Return the drifts that undid a step of a series and that repeated it, in turn."""
        if step.drift_id not in self._transitions_of_step:
            self._transitions_of_step[step.drift_id] = tuple(
                _list_transitions_of_step(step, self._series.get(step.series, ()))
            )
        return self._transitions_of_step[step.drift_id]


def list_transitions(members: Iterable[LocatedDrift], resolutions: Resolutions) -> list[Transition]:
    """Return when an event was resolved and when it came back, in the order of the history.

    It is resolved once it is undone in each of its series, and comes back as soon as it recurs in one of them. An
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
    """Return whether an event comes back with a group of drifts: all of them repeat it, after it was resolved."""
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


def _list_transitions_of_step(step: LocatedDrift, drifts: Iterable[LocatedDrift]) -> Iterator[Transition]:
    """Yield a fix for each drift of a series that undoes a step, and a return for each that repeats it, in turn."""
    standing_steps: list[LocatedDrift] = []
    undoing_drift: LocatedDrift | None = None
    for drift in drifts:
        if not drift.worse:
            remaining_steps = _list_remaining(standing_steps, drift)
            if step in standing_steps and step not in remaining_steps:
                undoing_drift = drift
                yield Transition(Action.FIX, drift)
            standing_steps = remaining_steps
        # The step is repeated if the level rises from where it was undone by as much as the step did.
        elif undoing_drift is not None and _is_near(
            drift.after, undoing_drift.after + (step.after - step.before), step
        ):
            undoing_drift = None
            standing_steps.append(step)
            yield Transition(Action.REOPEN, drift)
        else:
            standing_steps.append(drift)


def _list_remaining(standing_steps: Sequence[LocatedDrift], improvement: LocatedDrift) -> list[LocatedDrift]:
    """Return the regressions of a series that remain after an improvement.

    The level alone does not decide: when a large step is undone, the level is better than before each smaller step that
    came after it, although these remain. So an improvement undoes the newest step of its own size; or else the newest
    steps together, if it leads back to where they began; or else all steps, if it leads to a level better than before
    any of them.
    """
    for index in reversed(range(len(standing_steps))):
        step = standing_steps[index]
        if _is_near(improvement.before - improvement.after, step.after - step.before, step):
            return [*standing_steps[:index], *standing_steps[index + 1 :]]
    for index in reversed(range(len(standing_steps))):
        if _is_near(improvement.after, standing_steps[index].before, standing_steps[index]):
            return list(standing_steps[:index])
    if standing_steps:
        first_step = standing_steps[0]
        is_lower_better = first_step.before < first_step.after
        if (improvement.after < first_step.before) == is_lower_better:
            return []
    return list(standing_steps)


def _is_near(level: Number, other_level: Number, step: LocatedDrift) -> bool:
    """Return whether two levels, or two sizes, are equal on the scale of a step."""
    size = abs(step.after - step.before)
    return abs(level - other_level) <= max(MAX_RETURN_ERROR * size, min(MAX_RETURN_ERROR_IN_NOISE * size, step.spread))


def _map_first_drifts_by_series(members: Iterable[LocatedDrift]) -> dict[int | str, LocatedDrift]:
    """Return the first regression of each series."""
    first_drifts: dict[int | str, LocatedDrift] = {}
    for drift in sorted(members, key=lambda drift: drift.order):
        if drift.worse and not drift.is_suite_shift:
            first_drifts.setdefault(drift.series, drift)
    return first_drifts
