"""Tells from the drifts alone when an event was over, and when it came back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.triage.life import Action
from service.triage.place import Group, Trace
from service.views import Number

NEAR = 0.05
"""How far from a former level a drift may end to have returned to it, as a share of the step away from it."""
NEAR_IN_NOISE = 0.25
"""The same where that is within the noise: levels of noisy series are known to a part of the smallest step told."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The event was over (fix), or came back (reopen), by a drift."""

    action: Action
    by: Trace


def turns(members: Iterable[Trace], series: Mapping[int | str, Sequence[Trace]]) -> list[Turn]:
    """Return when the event of some drifts was over and came back, in the order of the history.

    It is over once each of its series is back at the level before or better, and comes back with the first that
    leaves it again. An event that is for the better is never over.

    Parameters
    ----------
    members
        The drifts of the event.
    series
        All drifts that are found in each series.
    """
    first = _first_in_each_series(members)
    away = set(first)
    found: list[Turn] = []
    for trace in sorted(_later(first, series), key=lambda trace: trace.order):
        step = first[trace.series]
        if trace.series in away and _is_back(trace.after, step):
            away.remove(trace.series)
            if not away:
                found.append(Turn(Action.FIX, trace))
        elif trace.series not in away and near(trace.after, step.after, step):
            if not away:
                found.append(Turn(Action.REOPEN, trace))
            away.add(trace.series)
    return found


def returns(group: Group, members: Iterable[Trace], series: Mapping[int | str, Sequence[Trace]]) -> bool:
    """Tell whether a group of drifts is an event coming back: all of them do what it did, after it was over."""
    members = tuple(members)
    first = _first_in_each_series(members)
    group = tuple(trace for trace in group if not trace.whole_suite)
    if not all(trace.series in first for trace in group):
        return False
    back = {turn.by.drift for turn in turns(members, series) if turn.action is Action.REOPEN}
    return any(trace.drift in back for trace in group) and all(
        near(trace.after, first[trace.series].after, first[trace.series]) for trace in group
    )


def _is_back(level: Number, step: Trace) -> bool:
    """Tell whether a level is the one before a step, or better still."""
    return near(level, step.before, step) or (level < step.before) == (step.before < step.after)


def near(level: Number, other: Number, step: Trace) -> bool:
    """Tell whether two levels are the same one, measured by a step away from it."""
    size = abs(step.after - step.before)
    return abs(level - other) <= max(NEAR * size, min(NEAR_IN_NOISE * size, step.spread))


def _first_in_each_series(members: Iterable[Trace]) -> dict[int | str, Trace]:
    first: dict[int | str, Trace] = {}
    for trace in sorted(members, key=lambda trace: trace.order):
        if trace.worse and not trace.whole_suite:
            first.setdefault(trace.series, trace)
    return first


def _later(first: Mapping[int | str, Trace], series: Mapping[int | str, Sequence[Trace]]) -> Iterator[Trace]:
    for name, start in first.items():
        yield from (trace for trace in series.get(name, ()) if trace.order > start.order)
