"""Decides from the windows of a server whether its faults have levelled off, and whether memory growth explains them.

A store that is being filled has faults because it allocates memory, and their rate falls with the share of new keys. If
the rate of a server stays well above the growth of its memory, the server touches the same memory repeatedly, because
it has returned the memory in between, or copies it.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from runner.contract.number_text import format_amount, replace_no_break_spaces
from runner.contract.report import Sample, Window

_USUAL_PAGE_BYTES = 4096
_PAGE_SIZES = frozenset({"4096", "8192", "16384", "65536"})
"""The page sizes of Linux's architectures, as the setting ``memory.page_size`` of an environment."""
MAX_STEADY_CHANGE = 0.10
"""The rates of two windows are the same if they differ by no more than this share of the larger rate."""
MIN_FAULTS_PER_OPERATION = 0.01
"""Rates below this (one fault in a hundred operations) are considered zero."""
MAX_NEGLIGIBLE_FAULTS = 16
"""A window with at most this many faults counts as one without faults, however few its operations were."""
_GROWING_WINDOWS = 3
"""The number of successive windows that must show that memory grows as fast as before."""
_IRREGULAR_WINDOWS = 4
"""The number of successive windows that must show that faults are irregular, as with a garbage collector."""
MIN_UNEXPLAINED_PER_OPERATION = 0.10
"""A server still faults if it has at least this many unexplained faults per operation, and the share below."""
MIN_UNEXPLAINED_SHARE = 0.5
"""A server still faults if the growth of its memory does not explain at least this share of its faults."""


class WindowFaults(Struct, frozen=True):
    """The figures of one window: faults, operations (1 if unknown), and the growth of memory in bytes and in pages."""

    faults: float
    operations: float
    growth: float
    page_bytes: int = _USUAL_PAGE_BYTES

    @property
    def rate(self) -> float:
        """Faults per operation."""
        return self.faults / self.operations

    @property
    def unexplained_rate(self) -> float:
        """Faults per operation that exceed the number of pages by which the memory has grown."""
        return max(0.0, self.faults - max(0.0, self.growth) / self.page_bytes) / self.operations


class AlignedWindows(Struct, frozen=True):
    """The windows with the same number in several starts of a server."""

    number: int
    is_warm_up: bool
    windows: tuple[Window, ...]


def count_warm_up(windows: Sequence[Window]) -> int:
    """Return how many windows come before the measured ones."""
    return next((index for index, window in enumerate(windows) if not window.is_warm_up), len(windows))


def find_value_range(windows: Sequence[Window], name: str) -> tuple[int | float, int | float] | None:
    """Return the lowest and the highest value of a metric in several windows; None if none of them has a value."""
    readings = [window.readings[name].value for window in windows if name in window.readings]
    values = [value for value in readings if value is not None]
    return (min(values), max(values)) if values else None


def align_windows(starts: Sequence[Sequence[Window]]) -> list[AlignedWindows]:
    """Align the windows of several starts of a server so that their first measured windows have the same number.

    Starts that warm up until they are steady have different numbers of warm-up windows. The numbers are those of the
    start with the longest warm-up.
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

    This is the case if the last two windows have the same rate or hardly any faults, or if the rates of the last four
    are irregular.
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
    """Return whether the rate goes up and down, and is not lower in the second half than in the first.

    With a garbage collector, the rates of two successive windows may never agree. A rate that has not levelled off
    moves in one direction.
    """
    if len(windows) < _IRREGULAR_WINDOWS:
        return False
    rates = [window.rate for window in windows]
    directions = {later > earlier for earlier, later in pairwise(rates)}
    middle = len(rates) // 2
    # A decline that is small enough for a steady server does not count as lower.
    return len(directions) > 1 and sum(rates[middle:]) >= (1 - MAX_STEADY_CHANGE) * sum(rates[:middle])


def find_still_faulting_rate(windows: Sequence[WindowFaults]) -> float | None:
    """Return the unexplained faults per operation of the last window if the server still faults, otherwise None.

    Faults are unexplained if there are more of them than pages by which the memory has grown.

    Both of the last two windows must show it: a single window may contain a rehash or a garbage collection.
    """
    if len(windows) < 2:
        return None
    for window in windows[-2:]:
        unexplained = window.unexplained_rate
        if unexplained < MIN_UNEXPLAINED_PER_OPERATION or unexplained < MIN_UNEXPLAINED_SHARE * window.rate:
            return None
    return windows[-1].unexplained_rate


def find_steady_growth(windows: Sequence[WindowFaults]) -> float | None:
    """Return the growth of memory per operation in the last window, in bytes, if it is as fast as before; else None.

    It is also None if there are clearly more faults than pages by which the memory has grown.

    All of the last windows must show it. A store that is being filled grows more slowly from window to window, because
    its load finds more and more keys that exist already.
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
    """Return a sentence if the server still faults, or if its heap grows steadily; empty if neither is the case."""
    rate, growth = find_still_faulting_rate(windows), find_steady_growth(windows)
    rate_suffix = f"faults per operation after {len(windows)} windows"
    if rate is not None:
        return (
            f"still {_format_rate(rate)} {rate_suffix}, more than its memory growth explains: the server touches "
            "memory that it had returned earlier or that it shares with another process"
        )
    if growth is not None:
        amount = replace_no_break_spaces(format_amount(growth))
        return (
            f"still {_format_rate(windows[-1].rate)} {rate_suffix}, because its memory is still growing by {amount} "
            "per operation, as fast as before: its heap keeps growing"
        )
    return ""


def _format_rate(rate: float) -> str:
    """Format a rate with one decimal, or with two significant digits if it is below 1."""
    return f"{rate:,.1f}" if rate >= 1 else f"{rate:.2g}"


def list_window_faults(windows: Sequence[Window], settings: Mapping[str, str]) -> list[WindowFaults]:
    """Return the faults, operations and growth of windows; windows without counted faults are left out.

    An unknown number of operations counts as 1, and an unknown growth as 0.

    Parameters
    ----------
    settings
        The settings of the environment, which contain the size of its pages.
    """
    page_size = settings.get("memory.page_size", "")
    page_bytes = int(page_size) if page_size in _PAGE_SIZES else _USUAL_PAGE_BYTES
    faults = []
    for window in windows:
        counted_values = [
            window.readings[name].value for name in ("minor-faults", "major-faults") if name in window.readings
        ]
        growth = window.readings["resident-growth"].value if "resident-growth" in window.readings else 0
        if counted_values and None not in counted_values:
            total = sum(value for value in counted_values if value is not None)
            faults.append(WindowFaults(total, window.operations or 1, growth or 0, page_bytes))
    return faults


def describe_still_faulting_samples(samples: Sequence[Sample], settings: Mapping[str, str]) -> str:
    """Return a sentence if more than half of a server's samples show that it still faults; otherwise empty.

    Parameters
    ----------
    settings
        The settings of the environment, which contain the size of its pages.
    """
    sentences = [
        describe_still_faulting(list_window_faults(sample.windows, settings)) for sample in samples if sample.windows
    ]
    still_faulting = [sentence for sentence in sentences if sentence]
    return still_faulting[-1] if 2 * len(still_faulting) > len(sentences) else ""
