"""Carries events over from one judging to the next, by what their drifts overlap. Pure.

A drift is found anew whenever its series grows, and a backfill can name it differently: another commit, another cause.
What was decided about its event must not be lost by that.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from service.rules.events.grouping import DriftGroup, LocatedDrift, may_be_same, overlaps


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """An event that is known already.

    Attributes
    ----------
    traces
        All drifts that were ever found of it, as they were found last.
    age
        Smaller for those that were known earlier.
    alive
        Whether any of its drifts was found in the judging before.
    """

    traces: Sequence[LocatedDrift]
    age: int
    alive: bool = True


@dataclass(slots=True)
class CarriedEvents:
    """What becomes of the events.

    Attributes
    ----------
    events
        The known event that each group of drifts goes on with; None for a new one.
    origins
        Events that a new one was split off from, by the number of its group.
    merged
        Events that ended in another one, with that one.
    """

    events: list[str | None]
    origins: dict[int, list[str]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)


_Score = tuple[int, int, int]


def carry_over(groups: Sequence[DriftGroup], known: Mapping[str, KnownEvent]) -> CarriedEvents:
    """Give each group the known event that it has most in common with.

    The same drifts count most, then drifts of the same series at the same place, then the same place.
    """
    scores = _scores(groups, known)
    carried = CarriedEvents([None] * len(groups))
    taken: dict[str, int] = {}

    def rank(entry: tuple[tuple[int, str], _Score]) -> tuple[object, ...]:
        (number, event), score = entry
        return not known[event].alive, tuple(-part for part in score), known[event].age, number

    ranked = sorted(scores.items(), key=rank)
    for (number, event), _ in ranked:
        if carried.events[number] is None and event not in taken:
            carried.events[number] = event
            taken[event] = number
    for (number, event), score in ranked:
        if not any(score[:2]) or not known[event].alive:
            continue
        if carried.events[number] is None:
            carried.origins.setdefault(number, []).append(event)
        elif event not in taken:
            into = carried.events[number]
            assert into is not None
            carried.merged.setdefault(event, into)
    return carried


def _scores(groups: Sequence[DriftGroup], known: Mapping[str, KnownEvent]) -> dict[tuple[int, str], _Score]:
    """Return what each group has in common with each event, where that is anything."""
    same: Counter[tuple[int, str]] = Counter()
    touching: Counter[tuple[int, str]] = Counter()
    placed: Counter[tuple[int, str]] = Counter()
    by_drift, by_series, by_key = _indexes(known)
    for number, traces in enumerate(groups):
        for trace in traces:
            if trace.drift in by_drift:
                same[number, by_drift[trace.drift]] += 1
            for event in {event for event, other in by_series[trace.series] if may_be_same(trace, other)}:
                touching[number, event] += 1
        low, high = max(trace.stretch[0] for trace in traces), min(trace.stretch[1] for trace in traces)
        for event, stretch in by_key[traces[0].key]:
            if overlaps((low, high), stretch):
                placed[number, event] = 1
    return {pair: (same[pair], touching[pair], placed[pair]) for pair in same.keys() | touching.keys() | placed.keys()}


_Series = dict[int | str, list[tuple[str, LocatedDrift]]]
_Keys = dict[tuple[str, str], list[tuple[str, tuple[float, float]]]]


def _indexes(known: Mapping[str, KnownEvent]) -> tuple[dict[str, str], _Series, _Keys]:
    by_drift: dict[str, str] = {}
    by_series: _Series = defaultdict(list)
    by_key: _Keys = defaultdict(list)
    for event, entry in known.items():
        traces = [trace for trace in entry.traces if not trace.returned]
        for trace in traces:
            by_drift[trace.drift] = event
            by_series[trace.series].append((event, trace))
        for key, stretches in _by_key(traces).items():
            low, high = max(low for low, _ in stretches), min(high for _, high in stretches)
            if low <= high:
                by_key[key].append((event, (low, high)))
    return by_drift, by_series, by_key


def _by_key(traces: Iterable[LocatedDrift]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    found: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for trace in traces:
        found[trace.key].append(trace.stretch)
    return found
