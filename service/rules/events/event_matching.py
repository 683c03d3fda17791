"""Matches the events of one detection with those of the previous one by how their drifts overlap.

Drifts are detected again whenever their series grow, and a backfill can change their commits and causes. The decisions
about their events must survive this.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from service.rules.events.grouping import DriftGroup, LocatedDrift, do_overlap, may_be_same_drift
from service.rules.events.rewritten_commits import carries_same_patch, is_rewritten
from service.schemas.triage import State


@dataclass(frozen=True, slots=True)
class KnownEvent:
    """A stored event.

    Attributes
    ----------
    drifts
        All drifts that it has ever had, as last detected; empty once it is merged into another event.
    age
        A sort key: smaller for events that were stored earlier.
    alive
        Whether the previous detection found any of its drifts.
    state
        The state after all decisions about it.
    """

    drifts: Sequence[LocatedDrift]
    age: int
    alive: bool = True
    state: State = State.NEW


@dataclass(slots=True)
class CarriedEvents:
    """The result of matching groups of drifts with stored events.

    Attributes
    ----------
    events
        The stored event that each group of drifts continues; None for a new event.
    origins
        For each new event, given by the index of its group, the events from which it was split off.
    merged
        For each merged event, the event into which it was merged.
    """

    events: list[str | None]
    origins: dict[int, list[str]] = field(default_factory=dict)
    merged: dict[str, str] = field(default_factory=dict)


class _Score(NamedTuple):
    """What a group of drifts and an event have in common, the most reliable evidence first."""

    n_equal: int
    """How many drifts they share."""
    n_same_patch: int
    """How many drifts have commits with the same patch id."""
    n_similar: int
    """How many drifts may be the same."""
    overlaps: bool
    """Whether the locations overlap."""

    @property
    def has_shared_drifts(self) -> bool:
        """Whether they share any drift, or may share one."""
        return bool(self.n_equal or self.n_same_patch or self.n_similar)


def assign_stored_events(groups: Sequence[DriftGroup], stored_events: Mapping[str, KnownEvent]) -> CarriedEvents:
    """Match groups of drifts with stored events, at most one event for each group and one group for each event.

    The best pairs are matched first. Events that the previous detection found come before all others, because people
    work with these; an event that is found again after it was gone must not displace one. Then equal drifts count most;
    then drifts of one series whose commits have the same patch id; then drifts of one series at the same location, or
    of commits with the same author and title; then the same location in different series.

    A group that shares drifts only with events of other groups is split off from these events. An event that shares
    drifts only with groups that continue other events is merged into one of those.
    """
    scores = _score_pairs(groups, stored_events)
    carried_events = CarriedEvents([None] * len(groups))
    group_of_event: dict[str, int] = {}

    def rank_pair(entry: tuple[tuple[int, str], _Score]) -> tuple[object, ...]:
        (index, event), score = entry
        return not stored_events[event].alive, tuple(-part for part in score), stored_events[event].age, index

    # Assign the best pairs first, each group and each event once. Events that the previous detection found come first.
    ranked_pairs = sorted(scores.items(), key=rank_pair)
    for (index, event), _ in ranked_pairs:
        if carried_events.events[index] is None and event not in group_of_event:
            carried_events.events[index] = event
            group_of_event[event] = index
    # For the remaining pairs that share drifts, a new event was split off, or an event is merged into another one. An
    # event that the previous detection did not find takes part in neither: it stays as it is until it is found again.
    for (index, event), score in ranked_pairs:
        if not score.has_shared_drifts or not stored_events[event].alive:
            continue
        if carried_events.events[index] is None:
            carried_events.origins.setdefault(index, []).append(event)
        elif event not in group_of_event:
            merge_target = carried_events.events[index]
            assert merge_target is not None
            carried_events.merged.setdefault(event, merge_target)
    return carried_events


def _score_pairs(
    groups: Sequence[DriftGroup], stored_events: Mapping[str, KnownEvent]
) -> dict[tuple[int, str], _Score]:
    """Return the scores of the pairs of a group and an event that have anything in common."""
    n_equal: Counter[tuple[int, str]] = Counter()
    n_same_patch: Counter[tuple[int, str]] = Counter()
    n_similar: Counter[tuple[int, str]] = Counter()
    overlapping_pairs: set[tuple[int, str]] = set()
    event_by_drift, drifts_by_series, ranges_by_key = _build_indexes(stored_events)
    same_patch = _list_same_patches(groups, drifts_by_series)
    # Drifts matched by their patch id are not matched by author and title as well, which is less reliable.
    recognised_drifts = {drift_id for pair in same_patch for drift_id in pair}
    for group_index, group in enumerate(groups):
        for drift in group:
            if drift.drift_id in event_by_drift:
                n_equal[group_index, event_by_drift[drift.drift_id]] += 1
            for event in {
                event
                for event, other_drift in drifts_by_series[drift.series]
                if (drift.drift_id, other_drift.drift_id) in same_patch
            }:
                n_same_patch[group_index, event] += 1
            for event in {
                event
                for event, other_drift in drifts_by_series[drift.series]
                if may_be_same_drift(drift, other_drift)
                or (is_rewritten(drift, other_drift) and not recognised_drifts & {drift.drift_id, other_drift.drift_id})
            }:
                n_similar[group_index, event] += 1
        # The stretch that is common to all drifts of the group, which all have the same key.
        stretches = [drift.stretch for drift in group]
        low, high = max(start for start, _ in stretches), min(end for _, end in stretches)
        for event, stretch in ranges_by_key[group[0].key]:
            if do_overlap((low, high), stretch):
                overlapping_pairs.add((group_index, event))
    pairs = n_equal.keys() | n_same_patch.keys() | n_similar.keys() | overlapping_pairs
    return {
        pair: _Score(n_equal[pair], n_same_patch[pair], n_similar[pair], overlaps=pair in overlapping_pairs)
        for pair in pairs
    }


def _list_same_patches(groups: Iterable[DriftGroup], drifts_by_series: _DriftsBySeries) -> set[tuple[str, str]]:
    """Return the pairs of ids of a current and a former drift whose commits have the same patch id."""
    return {
        (drift.drift_id, other.drift_id)
        for group in groups
        for drift in group
        for _, other in drifts_by_series[drift.series]
        if carries_same_patch(drift, other)
    }


_DriftsBySeries = dict[int | str, list[tuple[str, LocatedDrift]]]
"""The drifts of stored events, each with its event, by series."""
_RangesByKey = dict[tuple[str, str], list[tuple[str, tuple[float, float]]]]
"""The stored events, each with the stretch that is common to all its drifts, by their cause and its detail."""


def _build_indexes(stored_events: Mapping[str, KnownEvent]) -> tuple[dict[str, str], _DriftsBySeries, _RangesByKey]:
    """Index the stored events by drift, by series, and by cause with the stretch common to all their drifts."""
    event_by_drift: dict[str, str] = {}
    drifts_by_series: _DriftsBySeries = defaultdict(list)
    ranges_by_key: _RangesByKey = defaultdict(list)
    for event, entry in stored_events.items():
        drifts = [drift for drift in entry.drifts if not drift.returned]
        for drift in drifts:
            event_by_drift[drift.drift_id] = event
            drifts_by_series[drift.series].append((event, drift))
        for key, stretches in _group_stretches(drifts).items():
            low = max(start for start, _ in stretches)
            high = min(end for _, end in stretches)
            if low <= high:
                ranges_by_key[key].append((event, (low, high)))
    return event_by_drift, drifts_by_series, ranges_by_key


def _group_stretches(drifts: Iterable[LocatedDrift]) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """Return the stretches of drifts by their group keys."""
    stretches: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    for drift in drifts:
        stretches[drift.key].append(drift.stretch)
    return stretches
