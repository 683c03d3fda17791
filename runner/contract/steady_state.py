"""Decides from the windows of a server whether its faults have levelled off, and whether memory growth explains them.

A store that fills has faults because it allocates, and their rate falls with the share of new keys. A server whose
rate stays well above what its memory grows by touches memory again that it had: it gave the memory back, or copies it.
"""

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from runner.contract.number_text import format_amount, replace_no_break_spaces
from runner.contract.report import Sample, Window

_PAGE_BYTES = 4096
MAX_STEADY_CHANGE = 0.10
"""The rates of two windows are the same if they differ by no more than this share of the larger one."""
MIN_FAULTS_PER_OPERATION = 0.01
"""Rates below this are the same as none: one fault in a hundred operations."""
MAX_NEGLIGIBLE_FAULTS = 16
"""A window with at most this many faults counts as one without faults, however few its operations were."""
_GROWING_WINDOWS = 3
"""The number of windows that show together that memory grows as fast as before."""
_IRREGULAR_WINDOWS = 4
"""The number of windows that show together that faults come irregularly, as those of a garbage collector do."""
MIN_UNEXPLAINED_PER_OPERATION = 0.10
"""From this rate of unexplained faults on, a server still faults (if the share below is reached as well)."""
MIN_UNEXPLAINED_SHARE = 0.5
"""A server still faults if at least this share of its faults is not explained by the growth of its memory."""


class WindowFaults(Struct, frozen=True):
    """What one window shows: faults, operations (1 if nothing says how many), and growth of memory in bytes."""

    faults: float
    operations: float
    growth: float

    @property
    def rate(self) -> float:
        """Faults of an operation."""
        return self.faults / self.operations

    @property
    def unexplained_rate(self) -> float:
        """Faults of an operation beyond the pages by which the memory has grown."""
        return max(0.0, self.faults - max(0.0, self.growth) / _PAGE_BYTES) / self.operations


class AlignedWindows(Struct, frozen=True):
    """The windows of several starts of a server that have the same number."""

    number: int
    is_warm_up: bool
    windows: tuple[Window, ...]


def count_warm_up(windows: Sequence[Window]) -> int:
    """Return how many windows come before the measured ones."""
    return next((index for index, window in enumerate(windows) if not window.is_warm_up), len(windows))


def find_value_range(windows: Sequence[Window], name: str) -> tuple[int | float, int | float] | None:
    """Return the lowest and the highest value of a metric over some windows; None if none of them has a value."""
    readings = [window.readings[name].value for window in windows if name in window.readings]
    values = [value for value in readings if value is not None]
    return (min(values), max(values)) if values else None


def align_windows(starts: Sequence[Sequence[Window]]) -> list[AlignedWindows]:
    """Return the windows of several starts of a server by number: the first measured windows have the same number.

    Starts that warm up until they are steady have different numbers of windows. The numbers are those of the start that
    warmed up for longest.
    """
    max_warm_up = max((count_warm_up(windows) for windows in starts), default=0)
    rows: dict[int, list[Window]] = {}
    for windows in starts:
        first_number = max_warm_up - count_warm_up(windows) + 1
        for number, window in enumerate(windows, first_number):
            rows.setdefault(number, []).append(window)
    return [AlignedWindows(number, number <= max_warm_up, tuple(rows[number])) for number in sorted(rows)]


def has_levelled_off(windows: Sequence[WindowFaults]) -> bool:
    """Return whether the rate of faults no longer falls.

    The last two windows have the same rate or next to no faults, or the rates of the last four go up and down.
    """
    if len(windows) < 2:
        return False
    last_windows = windows[-2:]
    low, high = sorted(window.rate for window in last_windows)
    return (
        high < MIN_FAULTS_PER_OPERATION
        or max(window.faults for window in last_windows) <= MAX_NEGLIGIBLE_FAULTS
        or high - low <= MAX_STEADY_CHANGE * high
        or _is_irregular(windows[-_IRREGULAR_WINDOWS:])
    )


def _is_irregular(windows: Sequence[WindowFaults]) -> bool:
    """Return whether the rate goes up and down, and is no lower in the second half than in the first.

    Where a garbage collector decides, the rates of two neighbouring windows need not ever agree. A rate that has not
    levelled off goes in one direction only.
    """
    if len(windows) < _IRREGULAR_WINDOWS:
        return False
    rates = [window.rate for window in windows]
    directions = {later > earlier for earlier, later in pairwise(rates)}
    middle = len(rates) // 2
    return len(directions) > 1 and sum(rates[middle:]) >= (1 - MAX_STEADY_CHANGE) * sum(rates[:middle])


def find_still_faulting_rate(windows: Sequence[WindowFaults]) -> float | None:
    """Return the unexplained faults per operation of the last window if the server still faults, otherwise None.

    The last two windows must both show it: a single window can hold a rehash or a collection.
    """
    if len(windows) < 2:
        return None
    for window in windows[-2:]:
        unexplained = window.unexplained_rate
        if unexplained < MIN_UNEXPLAINED_PER_OPERATION or unexplained < MIN_UNEXPLAINED_SHARE * window.rate:
            return None
    return windows[-1].unexplained_rate


def find_steady_growth(windows: Sequence[WindowFaults]) -> float | None:
    """Return the growth of memory per operation, in bytes, of the last window if memory grows as fast as before.

    The last windows must all show it, because a store that fills grows more slowly from window to window: its load
    meets more and more keys that are there.
    """
    last_windows = windows[-_GROWING_WINDOWS:]
    rates = [window.rate for window in last_windows]
    if (
        len(last_windows) < _GROWING_WINDOWS
        or min(rates) < MIN_UNEXPLAINED_PER_OPERATION
        or max(rates) - min(rates) > MAX_STEADY_CHANGE * max(rates)
        or any(window.unexplained_rate >= MIN_UNEXPLAINED_SHARE * window.rate for window in last_windows)
    ):
        return None
    return last_windows[-1].growth / last_windows[-1].operations


def describe_still_faulting(windows: Sequence[WindowFaults]) -> str:
    """Return in a sentence that the server still faults, or that its heap grows; empty if neither."""
    rate, growth = find_still_faulting_rate(windows), find_steady_growth(windows)
    rate_suffix = f"faults per operation after {len(windows)} windows"
    if rate is not None:
        return (
            f"still {_format_rate(rate)} {rate_suffix}, more than its memory growth explains: the server touches "
            "memory again that it had returned or shares with another process"
        )
    if growth is not None:
        amount = replace_no_break_spaces(format_amount(growth))
        return (
            f"still {_format_rate(windows[-1].rate)} {rate_suffix}, because its memory still grows by {amount} per "
            "operation, as fast as before: its heap grows and never returns memory"
        )
    return ""


def _format_rate(rate: float) -> str:
    """Write a rate with one decimal, or with two significant digits if it is below 1."""
    return f"{rate:,.1f}" if rate >= 1 else f"{rate:.2g}"


def list_window_faults(windows: Sequence[Window]) -> list[WindowFaults]:
    """Return the faults, operations and growth of windows; a window without counted faults is left out.

    A window without a number of operations counts as one operation, and one without a growth as not growing.
    """
    faults = []
    for window in windows:
        counted_values = [
            window.readings[name].value for name in ("minor-faults", "major-faults") if name in window.readings
        ]
        growth = window.readings["resident-growth"].value if "resident-growth" in window.readings else 0
        if counted_values and None not in counted_values:
            total = sum(value for value in counted_values if value is not None)
            faults.append(WindowFaults(total, window.operations or 1, growth or 0))
    return faults


def describe_still_faulting_samples(samples: Sequence[Sample]) -> str:
    """Return in a sentence that the server of some samples still faults, if more than half show it; empty if not."""
    sentences = [describe_still_faulting(list_window_faults(sample.windows)) for sample in samples if sample.windows]
    still_faulting = [sentence for sentence in sentences if sentence]
    return still_faulting[-1] if 2 * len(still_faulting) > len(sentences) else ""
