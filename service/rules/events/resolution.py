"""Tells from the drifts alone when an event was over, and when it came back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from service.rules.events.grouping import DriftGroup, LocatedDrift
from service.schemas.events import Action
from service.schemas.history import Number

NEAR = 0.05
"""How far from a former level a drift may end to have returned to it, as a share of the step away from it."""
NEAR_IN_NOISE = 0.25
"""The same where that is within the noise: levels of noisy series are known to a part of the smallest step told."""


@dataclass(frozen=True, slots=True)
class Transition:
    """The event was over (fix), or came back (reopen), by a drift."""

    action: Action
    by: LocatedDrift


def transitions(
    members: Iterable[LocatedDrift], series: Mapping[int | str, Sequence[LocatedDrift]]
) -> list[Transition]:
    """Return when the event of some drifts was over and came back, in the order of the history.

    It is over once each of its series has it undone, and comes back with the first that has it again. An event that is
    for the better is never over.

    Parameters
    ----------
    members
        The drifts of the event.
    series
        All drifts that are found in each series.
    """
    first = _first_in_each_series(members)
    away = set(first)
    found: list[Transition] = []
    for turn in _in_order(first, series):
        if turn.action is Action.FIX:
            away.discard(turn.by.series)
            if not away:
                found.append(turn)
        else:
            if not away:
                found.append(turn)
            away.add(turn.by.series)
    return found


def returns(
    group: DriftGroup, members: Iterable[LocatedDrift], series: Mapping[int | str, Sequence[LocatedDrift]]
) -> bool:
    """Tell whether a group of drifts is an event coming back: all of them do what it did, after it was over."""
    members = tuple(members)
    first = _first_in_each_series(members)
    group = tuple(trace for trace in group if not trace.whole_suite)
    again = {turn.by.drift for turn in _in_order(first, series) if turn.action is Action.REOPEN}
    back = {turn.by.drift for turn in transitions(members, series) if turn.action is Action.REOPEN}
    return any(trace.drift in back for trace in group) and all(trace.drift in again for trace in group)


def _in_order(
    first: Mapping[int | str, LocatedDrift], series: Mapping[int | str, Sequence[LocatedDrift]]
) -> list[Transition]:
    found = [turn for name, step in first.items() for turn in _course(step, series.get(name, ()))]
    return sorted(found, key=lambda turn: turn.by.order)


def _course(step: LocatedDrift, drifts: Iterable[LocatedDrift]) -> Iterator[Transition]:
    """Yield the drifts of a series that undo one of them, or do it again, in turn."""
    standing: list[LocatedDrift] = []
    over: LocatedDrift | None = None
    for trace in sorted(drifts, key=lambda trace: trace.order):
        if not trace.worse:
            left = _left(standing, trace)
            if step in standing and step not in left:
                over = trace
                yield Transition(Action.FIX, trace)
            standing = left
        elif over is not None and _near(trace.after, over.after + (step.after - step.before), step):
            over = None
            standing.append(step)
            yield Transition(Action.REOPEN, trace)
        else:
            standing.append(trace)


def _left(standing: Sequence[LocatedDrift], better: LocatedDrift) -> list[LocatedDrift]:
    """Return which of the steps for the worse that stand in a series are left after one for the better.

    A level alone does not tell: where a large step is undone, the level is better than before each small step that came
    after it, and those stand all the same. So a step is undone by one of its own size, the newest such step first; or
    some of the newest together by one that leads back to where they began; or all by one to a level that is better than
    before any of them.
    """
    for place in reversed(range(len(standing))):
        step = standing[place]
        if _near(better.before - better.after, step.after - step.before, step):
            return [*standing[:place], *standing[place + 1 :]]
    for place in reversed(range(len(standing))):
        if _near(better.after, standing[place].before, standing[place]):
            return list(standing[:place])
    if standing and (better.after < standing[0].before) == (standing[0].before < standing[0].after):
        return []
    return list(standing)


def _near(level: Number, other: Number, step: LocatedDrift) -> bool:
    """Tell whether two levels, or two sizes, are the same one, measured by a step."""
    size = abs(step.after - step.before)
    return abs(level - other) <= max(NEAR * size, min(NEAR_IN_NOISE * size, step.spread))


def _first_in_each_series(members: Iterable[LocatedDrift]) -> dict[int | str, LocatedDrift]:
    first: dict[int | str, LocatedDrift] = {}
    for trace in sorted(members, key=lambda trace: trace.order):
        if trace.worse and not trace.whole_suite:
            first.setdefault(trace.series, trace)
    return first
