"""Makes events of the drifts that are found now, and of the events that are known. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from runner.contract.report import hash_of
from service.rules.events.carry_over import KnownEvent, carry_over
from service.rules.events.grouping import DriftGroup, LocatedDrift, group_drifts
from service.rules.events.resolution import Transition, returns, transitions
from service.schemas.events import State

_SETTLED = frozenset({State.EXPECTED, State.FALSE_ALARM})
"""What comes back after this was decided is another event: what was said does not speak for it."""


@dataclass(slots=True)
class AssembledEvents:
    """The events, and what became of those that were known.

    Attributes
    ----------
    members
        The drifts of each event that has any, in the order of the history.
    returned
        Those drifts that are an event coming back.
    new
        Events that were not known.
    origins
        Known events that a new one was split off from.
    merged
        Known events that ended in another one, with that one.
    turns
        When each event was over and came back.
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


def assemble(
    found: Collection[LocatedDrift],
    known: Mapping[str, KnownEvent],
    states: Mapping[str, State],
    taken: Collection[str] = (),
) -> AssembledEvents:
    """Make events of drifts.

    Parameters
    ----------
    found
        All drifts of one subject that are found now.
    known
        The events that are known, those left out that ended in another.
    states
        Where each known event stands.
    taken
        Names that a new event cannot have.
    """
    series: dict[int | str, list[LocatedDrift]] = defaultdict(list)
    for trace in found:
        series[trace.series].append(trace)
    came_back = {trace.drift: name for name, entry in known.items() for trace in entry.traces if trace.returned}
    groups = group_drifts(found)
    again = [next((came_back[trace.drift] for trace in one if trace.drift in came_back), None) for one in groups]
    first = [one for one, event in zip(groups, again, strict=True) if event is None]
    carried = carry_over(first, known)
    resolved = AssembledEvents(merged=carried.merged)

    for one, event in zip(groups, again, strict=True):
        if event is not None:
            _add(resolved, event, one, returned=True)
    for one, event in zip(first, carried.events, strict=True):
        if event is not None:
            _add(resolved, event, one)
    for number, one in enumerate(first):
        if carried.events[number] is not None:
            continue
        event = _returning(one, resolved, series, states)
        if event is not None:
            _add(resolved, event, one, returned=True)
            continue
        event = _name(one, {*taken, *known, *resolved.new})
        resolved.new.append(event)
        resolved.origins[event] = carried.origins.get(number, [])
        _add(resolved, event, one)

    for event, members in resolved.members.items():
        members.sort(key=lambda trace: trace.order)
        resolved.transitions[event] = transitions(members, series)
    return resolved


def _add(resolved: AssembledEvents, event: str, one: DriftGroup, *, returned: bool = False) -> None:
    resolved.members[event] += one
    for trace in one:
        resolved.seen_in[trace.series][event] = None
    if returned:
        resolved.returned |= {trace.drift for trace in one}


def _returning(
    one: DriftGroup,
    resolved: AssembledEvents,
    series: Mapping[int | str, Sequence[LocatedDrift]],
    states: Mapping[str, State],
) -> str | None:
    """Return the event that a group of drifts is the return of."""
    for event in resolved.seen_in[one[0].series]:
        if states.get(event) not in _SETTLED and returns(one, resolved.members[event], series):
            return event
    return None


def _name(one: DriftGroup, taken: Collection[str]) -> str:
    """Name a new event: the same history gives the same names."""
    start = min(trace.drift for trace in one)
    return next(name for n in range(len(taken) + 1) if (name := hash_of(["event", start, n])) not in taken)
