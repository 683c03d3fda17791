"""Summarises many changes in a sentence and a bar: how many are worse, better or the same; and names the largest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

from runner.contract.number_text import format_count

N_LARGEST = 3
"""Number of the largest changes that are named."""


_WORDS = {"same": "the same", "steady": "without a drift"}


class Segment(NamedTuple):
    """A part of the bar: its kind, its text, and its position and width in percent."""

    kind: str
    text: str
    start: float
    width: float


class LargeChange(NamedTuple):
    """One of the largest changes: its size, its case, and its series."""

    worse: bool
    size: str
    case: str
    series_id: int | None
    host: str = ""
    """The host on which the case changed that much; empty if all changes are on one host."""


@dataclass(frozen=True, slots=True)
class ChangeCounts:
    """The numbers of changed and unchanged things, such as cases, by the direction of the change."""

    worse: int
    better: int
    same: int
    undecided: int = 0
    without_drift: int = 0
    """How many are not known to be the same, but have no drift between their sides."""
    noun: str = "case"
    largest: Sequence[LargeChange] = field(default=())

    @property
    def total(self) -> int:
        """The number of all things, changed or not."""
        return self.worse + self.better + self.same + self.without_drift + self.undecided

    @property
    def sentence(self) -> str:
        """The counts in words, as in "34 of 100 cases are worse, 12 better, 54 the same"."""
        if not self.total:
            return "Nothing was compared."
        if self.same == self.total:
            return f"Nothing changed in {format_count(self.total, self.noun)}."
        verb = "is" if 1 in {self.worse, self.total} else "are"
        parts = [f"{self.worse:,} of {format_count(self.total, self.noun)} {verb} worse"]
        parts += [f"{self.better:,} better", f"{self.same:,} the same"]
        if self.without_drift:
            parts.append(f"{self.without_drift:,} without a drift")
        if self.undecided:
            parts.append(f"{self.undecided:,} undecided")
        return f"{', '.join(parts)}."

    @property
    def segments(self) -> list[Segment]:
        """The parts of the bar that are not empty."""
        counts = {
            "worse": self.worse,
            "better": self.better,
            "undecided": self.undecided,
            "steady": self.without_drift,
            "same": self.same,
        }
        widths = [100 * count / max(1, self.total) for count in counts.values()]
        starts = [0.0, *accumulate(widths)][:-1]
        return [
            Segment(kind, f"{count:,} {_WORDS.get(kind, kind)}", round(start, 2), round(width, 2))
            for (kind, count), start, width in zip(counts.items(), starts, widths, strict=True)
            if count
        ]
