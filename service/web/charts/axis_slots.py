"""Slots: the places of runs on the horizontal axis of a trend by commit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import accumulate
from uuid import UUID

from service.schemas.history import SeriesFailure, SeriesPoint

Entry = SeriesPoint | SeriesFailure


class Slots:
    """The slot of each run, in the order of the path along which the trend is drawn, with runs without a value."""

    def __init__(self, path: Sequence[SeriesPoint], entries_without_value: Collection[Entry]) -> None:
        self._order = _merge_runs_without_value(path, entries_without_value)
        self._slot_by_run = {entry.run_id: slot for slot, entry in enumerate(self._order)}
        self.count = len(self._order)

    @cached_property
    def _positions_and_slots(self) -> list[tuple[int, int]]:
        return sorted((entry.position, slot) for slot, entry in enumerate(self._order))

    def find_slot(self, entry: Entry, n_before: int = 0) -> int:
        """Return the slot of a run.

        A point beside the path of the trend shares the slot of the same or the next later revision on the path, or that
        of the newest revision if there is no later one.

        Parameters
        ----------
        n_before
            How many runs of the same revision stand before it: if the revision has several slots, it gets a later one.
        """
        slot = self._slot_by_run.get(entry.run_id)
        if slot is not None:
            return slot
        if not self._positions_and_slots:
            return 0
        index = bisect_left(
            self._positions_and_slots, entry.position, key=lambda position_and_slot: position_and_slot[0]
        )
        last_index = len(self._positions_and_slots) - 1
        first_index = min(index, last_index)
        nearest_slots = self._positions_and_slots[first_index : first_index + n_before + 1]
        return [slot for position, slot in nearest_slots if position == nearest_slots[0][0]][-1]


class OverlaidSlots:
    """The slots of the runs of another series: the runs of a revision take its slots one after the other."""

    def __init__(self, slots: Slots, path: Iterable[SeriesPoint]) -> None:
        n_of_revision: Counter[int] = Counter()
        self._slot_by_run: dict[UUID, int] = {}
        for point in path:
            self._slot_by_run[point.run_id] = slots.find_slot(point, n_of_revision[point.position])
            n_of_revision[point.position] += 1

    def find_slot(self, entry: Entry) -> int:
        """Return the slot of a run of the series."""
        return self._slot_by_run[entry.run_id]


def _merge_runs_without_value(path: Sequence[SeriesPoint], entries_without_value: Collection[Entry]) -> list[Entry]:
    """Merge runs without a value into the path of the trend, each before the first point of a later revision."""
    if not entries_without_value:
        return list(path)
    # The path goes back in the history where the environment changes. The running maximum of its positions never
    # falls, so that it can be searched by bisection.
    highest_positions = list(accumulate((point.position for point in path), max))
    entries_before: dict[int, list[Entry]] = {}
    for entry in sorted(entries_without_value, key=lambda entry: entry.position):
        entries_before.setdefault(bisect_right(highest_positions, entry.position), []).append(entry)
    order: list[Entry] = []
    for index, point in enumerate(path):
        order += [*entries_before.get(index, ()), point]
    return order + entries_before.get(len(path), [])
