"""How well found changes match labelled ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Score:
    """Hits, false alarms and misses, added up over series."""

    hits: int = 0
    false: int = 0
    missed: int = 0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall; 1 where nothing was to be found and nothing was."""
        total = 2 * self.hits + self.false + self.missed
        return 2 * self.hits / total if total else 1.0

    def add(self, labels: Sequence[int], found: Sequence[int], within: int) -> None:
        """Count one series."""
        pairs = match_changes(labels, found, within)
        self.hits += len(pairs)
        self.false += len(found) - len(pairs)
        self.missed += len(labels) - len(pairs)


def match_changes(labels: Sequence[int], found: Sequence[int], within: int) -> dict[int, int]:
    """Pair labels with found changes one to one, nearest first; return found by label."""
    near = sorted((abs(a - b), a, b) for a in labels for b in found if abs(a - b) <= within)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, label, change in near:
        if label not in pairs and change not in taken:
            pairs[label] = change
            taken.add(change)
    return pairs
