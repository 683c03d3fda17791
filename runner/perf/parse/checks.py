"""Checks that perf's numbers are consistent with each other: only this can reveal a lost or changed digit."""

import re
from collections.abc import Sequence
from decimal import Decimal

from runner.contract.metrics import CATALOGUE
from runner.perf.parse.lines import Line
from runner.perf.parse.names import CPU_CLOCKS, OWN_CLOCKS
from runner.perf.parse.numbers import is_decimal, parse_decimal, parse_whole_number
from runner.perf.parse.rows import SECONDS_PER_UNIT, Row

_RATE = re.compile(r"(?P<prefix>[KMG]?)(?:[a-z-]*/sec|Hz)(?:  \w+)?")
_PREFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_NOT_A_NUMBER = re.compile(r"|-?nan|-?inf")
_RELATIVE_TOLERANCE = Decimal("1e-9")
"""The tolerated relative error of perf's arithmetic with doubles, which is much smaller."""
_ABSOLUTE_TOLERANCE = Decimal("1e-3")
"""The tolerated error, in events, of a product of two printed numbers: only differences of whole events matter."""


def check_clocks(rows: Sequence[Row]) -> None:
    """Check that the value of each CPU clock equals the time for which its counter ran.

    This confirms the unit of the clock, which some versions of perf do not print.
    """
    for row in rows:
        runtime = _get_clock_runtime(row)
        if runtime is None or row.count.value is None:
            continue
        clock = row.count.value * SECONDS_PER_UNIT[row.count.unit] / SECONDS_PER_UNIT["ns"]
        # perf reads the two times one after the other, so 2 % and 20 µs are tolerated; a wrong unit is a factor of 10⁶.
        if abs(clock - runtime) > runtime * Decimal("0.02") + 20_000:
            raise row.line.make_error("the value of this clock does not match its counter's running time")


def check_running_times(rows: Sequence[Row]) -> None:
    """Check roughly that each counter ran for its share of the CPU time: this reveals a count in the column of a time.

    Valid only for counters that were started together, at the start of the program.
    """
    # A clock may have several rows, but they are equal.
    for clock in dict.fromkeys(filter(None, map(_get_clock_runtime, rows))):
        for row in rows:
            if row.name.metric not in CATALOGUE or row.name.metric in OWN_CLOCKS or row.count.value is None:
                continue
            share = Decimal(1) if row.percent is None else row.percent / 100
            # A count in the place of a time is off by much more than half of the share plus 2 % plus 100 µs.
            tolerance = (share / 2 + Decimal("0.02")) * clock + 100_000
            if row.runtime is not None and abs(row.runtime - share * clock) > tolerance:
                raise row.line.make_error("the counter's running time does not match its share of the run")


def _get_clock_runtime(row: Row) -> int | None:
    """Return the nanoseconds for which the counter of a CPU clock ran; None for other events."""
    return row.runtime if row.name.metric in CPU_CLOCKS and row.count.value is not None else None


def check_rates(rows: Sequence[Row]) -> None:
    """Check counts against the rates beside them, which perf computes as count divided by task clock."""
    clocks = [row for row in rows if row.name.metric in CPU_CLOCKS and row.count.value is not None]
    if len(clocks) != 1 or clocks[0].name.metric != "task-clock":
        return  # With several clocks, or a clock other than task-clock, perf divides by something else.
    min_seconds, max_seconds = _compute_clock_bounds(clocks[0])
    for row in rows:  # Their ``metric`` is the rate and its unit, such as M/sec.
        match = _RATE.fullmatch(row.metric[1])
        if not match or _NOT_A_NUMBER.fullmatch(row.metric[0]) or row.count.value is None or row.percent is not None:
            continue
        low, high = _compute_rate_bounds(row.line, row.metric[0])
        min_count = low * _PREFIXES[match["prefix"]] * min_seconds
        max_count = high * _PREFIXES[match["prefix"]] * max_seconds
        tolerance = row.count.value * _RELATIVE_TOLERANCE + _ABSOLUTE_TOLERANCE
        if not min_count - tolerance <= row.count.value <= max_count + tolerance:
            raise row.line.make_error("the count does not match its rate and the task clock")


def _compute_clock_bounds(clock: Row) -> tuple[Decimal, Decimal]:
    """Return the bounds of the task clock in seconds: by its printed precision, or equal if its exact time is known."""
    assert clock.count.value is not None
    scale = SECONDS_PER_UNIT[clock.count.unit]
    low, high = (clock.count.value + sign * clock.count.half_step for sign in (-1, 1))
    # A clock's value is its own running time, which perf prints to the nanosecond. Use that if the two agree.
    if clock.runtime is not None and low * scale <= clock.runtime * SECONDS_PER_UNIT["ns"] <= high * scale:
        return clock.runtime * SECONDS_PER_UNIT["ns"], clock.runtime * SECONDS_PER_UNIT["ns"]
    return low * scale, high * scale


def _compute_rate_bounds(line: Line, rate: str) -> tuple[Decimal, Decimal]:
    """Return the bounds of a rate that follow from its printed precision."""
    # In a locale with a decimal comma, ``perf stat -x`` drops the comma and all places after it, without rounding.
    if not is_decimal(rate):
        return Decimal(parse_whole_number(line, rate)), Decimal(parse_whole_number(line, rate) + 1)
    places = len(re.split("[.,]", rate)[-1])
    value, half_step = parse_decimal(line, rate, places), Decimal(5).scaleb(-places - 1)
    return value - half_step, value + half_step
