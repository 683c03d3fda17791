"""Assembles events from the current drifts and the stored events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from runner.contract.report import hash_of
from service.rules.events.carry_over import KnownEvent, carry_over
from service.rules.events.grouping import DriftGroup, LocatedDrift, group_drifts
from service.rules.events.resolution import Resolutions, Transition, returns, transitions
from service.schemas.triage import State

_SETTLED = frozenset({State.EXPECTED, State.FALSE_ALARM})
"""After these decisions, drifts that return are a new event: the decision does not apply to them."""


@dataclass(slots=True)
class AssembledEvents:
    """The events, and what became of those that were stored.

    Attributes
    ----------
    members
        The drifts of each event that has any, in the order of the history.
    returned
        Ids of the drifts with which an event came back.
    new
        Names of the new events.
    origins
        The stored events that each new one was split off from.
    merged
        The event that each merged one ended in.
    transitions
        When each event was resolved and when it came back.
    seen_in
        The events of each series.
    """

    members: dict[str, list[LocatedDrift]] = field(default_factory=lambda: defaultdict(list))
    returned: set[str] = field(default_factory=set)
    new: list[str] = field(default_factory=list)
    origins: dict[str, list[str]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)
    transitions: dict[str, list[Transition]] = field(default_factory=dict)
    seen_in: dict[int | str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def assemble(drifts: Collection[LocatedDrift], known: Mapping[str, KnownEvent]) -> AssembledEvents:
    """Assemble events from drifts.

    Parameters
    ----------
    drifts
        All current drifts of one subject.
    known
        The stored events by their names, which a new event cannot have.
    """
    by_series: dict[int | str, list[LocatedDrift]] = defaultdict(list)
    for drift in drifts:
        by_series[drift.series].append(drift)
    resolutions = Resolutions(by_series)
    came_back = {drift.drift_id: name for name, event in known.items() for drift in event.drifts if drift.returned}
    groups = group_drifts(drifts)
    returned_to = [
        next((came_back[drift.drift_id] for drift in group if drift.drift_id in came_back), None) for group in groups
    ]
    first = [group for group, event in zip(groups, returned_to, strict=True) if event is None]
    carried = carry_over(first, known)
    assembled = AssembledEvents(merged=carried.merged)

    for group, event in zip(groups, returned_to, strict=True):
        if event is not None:
            _add(assembled, event, group, returned=True)
    for group, event in zip(first, carried.events, strict=True):
        if event is not None:
            _add(assembled, event, group)
    for index, group in enumerate(first):
        if carried.events[index] is not None:
            continue
        event = _returning_event(group, assembled, resolutions, known)
        if event is not None:
            _add(assembled, event, group, returned=True)
            continue
        event = _make_name(group, {*known, *assembled.new})
        assembled.new.append(event)
        assembled.origins[event] = carried.origins.get(index, [])
        _add(assembled, event, group)

    for event, members in assembled.members.items():
        members.sort(key=lambda drift: drift.order)
        assembled.transitions[event] = transitions(members, resolutions)
    return assembled


def _add(assembled: AssembledEvents, event: str, group: DriftGroup, *, returned: bool = False) -> None:
    assembled.members[event] += group
    for drift in group:
        assembled.seen_in[drift.series][event] = None
    if returned:
        assembled.returned |= {drift.drift_id for drift in group}


def _returning_event(
    group: DriftGroup,
    assembled: AssembledEvents,
    resolutions: Resolutions,
    known: Mapping[str, KnownEvent],
) -> str | None:
    """Return the event that comes back with a group of drifts; None if none does."""
    for event in assembled.seen_in[group[0].series]:
        is_settled = event in known and known[event].state in _SETTLED
        if not is_settled and returns(group, assembled.members[event], resolutions):
            return event
    return None


def _make_name(group: DriftGroup, taken: Collection[str]) -> str:
    """Return the name of a new event; the same history gives the same names."""
    start = min(drift.drift_id for drift in group)
    return next(name for n in range(len(taken) + 1) if (name := hash_of(["event", start, n])) not in taken)
