"""Draws the windows of a server: the faults of each window, a line for each start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.contract.metric import Metric
from runner.contract.metrics import get_metric
from runner.contract.number_text import Number
from runner.contract.report import Sample
from runner.contract.steady_state import (
    AlignedWindows,
    align_windows,
    count_warm_up,
    describe_still_faulting_samples,
    find_value_range,
    list_window_faults,
)

WIDTH, HEIGHT = 1000, 200
"""Size of the picture, in its own units."""
_MARGIN_SHARE = 0.08
"""Share of the height that is left free above and below the data."""
COLUMNS = (
    "minor-faults",
    "major-faults",
    "rwsem-waits",
    "sys-percent",
    "throughput",
    "latency-p99",
    "resident-growth",
    "elapsed",
)
"""The columns of the table. A metric that no window has is left out."""


@dataclass(frozen=True, slots=True)
class WindowRow:
    """A window, combined over all starts: whether it is a warm-up, and the lowest and highest value of each column."""

    number: int
    is_warm_up: bool
    rate: tuple[float, float] | None
    """Faults per operation; None if the number of operations is unknown."""
    spans: tuple[tuple[Number, Number] | None, ...]


@dataclass(frozen=True, slots=True)
class WindowPicture:
    """The windows of a server, laid out for the template as a picture and a table.

    Attributes
    ----------
    starts
        The number of starts, each drawn as one line.
    paths, dots
        The lines, and all their points.
    warm_up
        The share of the width that the warm-up takes.
    highest
        The value at the top of the picture, whose bottom is zero.
    unit
        Unit of the values that are drawn.
    still_faulting
        A sentence that says that the server is still faulting; empty if it is not.
    """

    starts: int
    paths: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    warm_up: float
    highest: float
    unit: str
    columns: tuple[Metric, ...]
    rows: tuple[WindowRow, ...]
    still_faulting: str
    width: int = WIDTH
    height: int = HEIGHT


def draw_windows(samples: Sequence[Sample], settings: Mapping[str, str]) -> WindowPicture | None:
    """Draw the windows of the starts of a server; None for a program that runs once."""
    starts = [sample.windows for sample in samples if sample.windows]
    if not starts:
        return None
    aligned_windows = align_windows(starts)
    warm_up = max(count_warm_up(windows) for windows in starts)
    has_operations = all(window.operations for windows in starts for window in windows)
    # A start with fewer warm-up windows begins further to the right, so that the measured windows line up.
    rates_by_start = [
        [
            (index, faults.rate)
            for index, window in enumerate(windows, warm_up - count_warm_up(windows))
            # A window without counted faults has no rate, and so no dot.
            for faults in list_window_faults([window], settings)
        ]
        for windows in starts
    ]
    highest = max((rate for line in rates_by_start for _, rate in line), default=0.0)
    step = WIDTH / len(aligned_windows)

    def compute_point(index: int, rate: float) -> tuple[float, float]:
        share = rate / highest if highest else 0.0
        return round((index + 0.5) * step, 1), round(HEIGHT * (1 - _MARGIN_SHARE - share * (1 - 2 * _MARGIN_SHARE)), 1)

    lines = [[compute_point(index, rate) for index, rate in line] for line in rates_by_start]
    names = [name for name in COLUMNS if any(name in window.readings for windows in starts for window in windows)]
    return WindowPicture(
        starts=len(starts),
        paths=tuple("M" + " ".join(f"{x:g},{y:g}" for x, y in line) for line in lines if line),
        dots=tuple(point for line in lines for point in line),
        warm_up=round(step * warm_up, 1),
        highest=highest,
        unit="faults/operation" if has_operations else "faults",
        columns=tuple(get_metric(name) for name in names),
        rows=tuple(_build_window_row(row, names, has_operations) for row in aligned_windows),
        still_faulting=describe_still_faulting_samples(samples, settings),
    )


def _build_window_row(row: AlignedWindows, names: Sequence[str], has_operations: bool) -> WindowRow:
    """Return a row of the table: one window, with the range of its values over all starts."""
    rates = [faults.rate for faults in list_window_faults(row.windows, {})]  # rates do not depend on the page size
    return WindowRow(
        number=row.number,
        is_warm_up=row.is_warm_up,
        rate=(min(rates), max(rates)) if rates and has_operations else None,
        spans=tuple(find_value_range(row.windows, name) for name in names),
    )
