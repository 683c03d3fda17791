"""Slots: the places of runs on the horizontal axis of a trend by commit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import accumulate

from service.schemas.history import SeriesFailure, SeriesPoint

Entry = SeriesPoint | SeriesFailure


class Slots:
    """The slot of each run: points in the order of the path, and runs without a value among them."""

    def __init__(self, path: Sequence[SeriesPoint], valueless: Collection[Entry]) -> None:
        self._order = _merge_unmeasured(path, valueless)
        self._of_run = {entry.run_id: slot for slot, entry in enumerate(self._order)}
        self.count = len(self._order)

    @cached_property
    def _by_position(self) -> list[tuple[int, int]]:
        return sorted((entry.position, slot) for slot, entry in enumerate(self._order))

    def find_slot(self, entry: Entry) -> int:
        """Return the slot of a run; for a point beside the path, that of the same or the next revision on the path.

        A point beside the path whose revision is newer than all on it gets the last slot.
        """
        slot = self._of_run.get(entry.run_id)
        if slot is not None:
            return slot
        if not self._by_position:
            return 0
        index = bisect_left(self._by_position, entry.position, key=lambda position_and_slot: position_and_slot[0])
        last_index = len(self._by_position) - 1
        _, nearest_slot = self._by_position[min(index, last_index)]
        return nearest_slot


def _merge_unmeasured(path: Sequence[SeriesPoint], valueless: Collection[Entry]) -> list[Entry]:
    """Merge runs without a value into the path, each before the first later revision."""
    if not valueless:
        return list(path)
    # The path goes back in the history where the environment changes; its highest position so far never does.
    highest_positions = list(accumulate((point.position for point in path), max))
    entries_before: dict[int, list[Entry]] = {}
    for entry in sorted(valueless, key=lambda entry: entry.position):
        entries_before.setdefault(bisect_right(highest_positions, entry.position), []).append(entry)
    order: list[Entry] = []
    for index, point in enumerate(path):
        order += [*entries_before.get(index, ()), point]
    return order + entries_before.get(len(path), [])
