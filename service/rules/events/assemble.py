"""Assembles events from the current drifts and the stored events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import count

from runner.contract.report import hash_document
from service.rules.events.event_matching import KnownEvent, assign_stored_events
from service.rules.events.fixed_and_reopened import Resolutions, Transition, does_event_return, list_transitions
from service.rules.events.grouping import DriftGroup, LocatedDrift, group_drifts
from service.schemas.triage import State

_SETTLED_STATES = frozenset({State.EXPECTED, State.FALSE_ALARM})
"""After these decisions, a recurrence is a new event, because the decision does not apply to it."""


@dataclass(slots=True)
class AssembledEvents:
    """The events, and how they follow from the stored ones.

    Attributes
    ----------
    members
        The drifts of each event that has any, in the order of the history.
    returned_drifts
        Ids of the drifts with which an event came back.
    new_events
        Names of the new events.
    origins
        For each new event, the stored events from which it was split off.
    merged_into
        For each merged event, the event into which it was merged.
    transitions
        For each event, when it was certainly resolved and when it certainly came back.
    events_of_series
        The events of each series.
    """

    members: dict[str, list[LocatedDrift]] = field(default_factory=lambda: defaultdict(list))
    returned_drifts: set[str] = field(default_factory=set)
    new_events: list[str] = field(default_factory=list)
    origins: dict[str, list[str]] = field(default_factory=dict)
    merged_into: dict[str, str] = field(default_factory=dict)
    transitions: dict[str, list[Transition]] = field(default_factory=dict)
    events_of_series: dict[int | str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def assemble_events(drifts: Collection[LocatedDrift], stored_events: Mapping[str, KnownEvent]) -> AssembledEvents:
    """Assemble events from drifts.

    Parameters
    ----------
    drifts
        All current drifts of one subject.
    stored_events
        The stored events by their names, which new events must not reuse.
    """
    # Group the drifts.
    resolutions = Resolutions(drifts)
    event_of_returned_drift = {
        drift.drift_id: name for name, event in stored_events.items() for drift in event.drifts if drift.returned
    }
    # An event is alive if the previous detection found any of its drifts.
    alive_event_of_drift = {
        drift.drift_id: name for name, event in stored_events.items() if event.alive for drift in event.drifts
    }
    groups = group_drifts(drifts)
    # Find the stored event of each group: the event that came back with one of the group's drifts, or the best match.
    returned_events = [_find_recorded_return(group, event_of_returned_drift) for group in groups]
    unassigned_groups = [group for group, event in zip(groups, returned_events, strict=True) if event is None]
    carried_events = assign_stored_events(unassigned_groups, stored_events)
    assembled_events = AssembledEvents(merged_into=carried_events.merged)

    # Assign the groups that continue a stored event.
    for group, event in zip(groups, returned_events, strict=True):
        if event is not None:
            # If that event is merged now, its drifts go to the event into which it is merged.
            _assign_group(assembled_events, carried_events.merged.get(event, event), group, has_returned=True)
    for group, event in zip(unassigned_groups, carried_events.events, strict=True):
        if event is not None:
            _assign_group(assembled_events, event, group)
    # If a group continues an event that came back, the other events that had its drifts are merged into this event,
    # unless they have drifts elsewhere.
    for group, event in zip(groups, returned_events, strict=True):
        if event is not None:
            joined_events = {
                alive_event_of_drift[drift.drift_id] for drift in group if drift.drift_id in alive_event_of_drift
            }
            for joined_event in joined_events - assembled_events.members.keys() - carried_events.merged.keys():
                assembled_events.merged_into[joined_event] = carried_events.merged.get(event, event)
    # Each other group reopens an event or is a new one.
    for index, group in enumerate(unassigned_groups):
        if carried_events.events[index] is not None:
            continue
        event = _find_reopened_event(group, assembled_events, resolutions, stored_events)
        if event is not None:
            _assign_group(assembled_events, event, group, has_returned=True)
            continue
        event = _make_name(group, {*stored_events, *assembled_events.new_events})
        assembled_events.new_events.append(event)
        assembled_events.origins[event] = carried_events.origins.get(index, [])
        _assign_group(assembled_events, event, group)

    # Find the transitions of each event: a suspicion neither is an event to resolve, nor resolves or reopens one.
    certain_resolutions = Resolutions(drift for drift in drifts if drift.is_certain)
    for event, members in assembled_events.members.items():
        members.sort(key=lambda drift: drift.order)
        certain_members = [drift for drift in members if drift.is_certain]
        assembled_events.transitions[event] = list_transitions(certain_members, certain_resolutions)
    return assembled_events


def _find_recorded_return(group: DriftGroup, event_of_returned_drift: Mapping[str, str]) -> str | None:
    """Return the stored event that is recorded to have come back with a drift of the group; None if there is none."""
    events = (event_of_returned_drift[drift.drift_id] for drift in group if drift.drift_id in event_of_returned_drift)
    return next(events, None)


def _assign_group(assembled: AssembledEvents, event: str, group: DriftGroup, *, has_returned: bool = False) -> None:
    """Assign a group of drifts to an event; ``has_returned`` says that the event came back with these drifts."""
    assembled.members[event] += group
    for drift in group:
        assembled.events_of_series[drift.series][event] = None
    if has_returned:
        assembled.returned_drifts |= {drift.drift_id for drift in group}


def _find_reopened_event(
    group: DriftGroup,
    assembled_events: AssembledEvents,
    resolutions: Resolutions,
    stored_events: Mapping[str, KnownEvent],
) -> str | None:
    """Return the event that a group of drifts reopens; None if there is none."""
    # All drifts of the group must repeat the event, except the shift of a suite, which has no series. So only events of
    # the first drift's series are possible.
    repeating_drift = next((drift for drift in group if not drift.is_suite_shift), None)
    if repeating_drift is None:
        return None
    for event in assembled_events.events_of_series[repeating_drift.series]:
        is_settled = event in stored_events and stored_events[event].state in _SETTLED_STATES
        if not is_settled and does_event_return(group, assembled_events.members[event], resolutions):
            return event
    return None


def _make_name(group: DriftGroup, used_names: Collection[str]) -> str:
    """Return the name of a new event, deterministically: the same history gives the same names."""
    first_drift = min(drift.drift_id for drift in group)
    possible_names = (hash_document(["event", first_drift, n]) for n in count())
    return next(name for name in possible_names if name not in used_names)
