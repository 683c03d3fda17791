"""From the rows of perf's output, whatever its format, to readings in the catalogue's units."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from runner.contract.report import Reading, Status
from runner.perf.parse.lines import Line, PerfOutputError
from runner.perf.parse.names import CLOCKS, Name, read_name
from runner.perf.parse.numbers import decimal, whole

MISSING = {"<not counted>": Status.NOT_COUNTED, "<not supported>": Status.NOT_SUPPORTED}
_SECONDS = {"msec": Decimal("1e-3"), "ns": Decimal("1e-9")}
_RATE = re.compile(r"(?P<prefix>[KMG]?)(?:(?:[a-z-]+)?/sec|Hz)(?:  \w+)?")
_PREFIX = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True, slots=True)
class PerfResult:
    """What perf counted.

    Attributes
    ----------
    readings
        By metric, in the catalogue's names and units. An event that was not counted is here too, with the reason.
    user_only
        The metrics that perf counted in user space only (``:u``): what happened in the kernel is not in them.
    """

    readings: dict[str, Reading]
    user_only: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Row:
    """One event as perf printed it.

    Attributes
    ----------
    count
        Counted events, or the time in the unit; None where ``status`` says that there is no value.
    percent
        Share of the run during which the counter ran, where perf printed it.
    runtime
        Nanoseconds for which the counter ran, where perf printed them.
    metric
        The derived number and its unit that perf printed beside the count.
    """

    line: Line
    event: str
    unit: str
    count: Decimal | None
    status: Status
    percent: Decimal | None = None
    runtime: int | None = None
    metric: tuple[str, str] = ("", "")


def read_count(line: Line, text: str, unit: str, places: int) -> tuple[Decimal | None, Status]:
    """Read the count of a row, or the reason that perf gives for having none.

    Milliseconds have the given number of decimal places, everything else is whole.
    """
    if unit not in {"", *_SECONDS}:
        raise line.error(f"unknown unit {unit!r} (a column of perf's -I, -A or --per-… options shifts the others)")
    if text in MISSING:
        return None, MISSING[text]
    if unit == "msec":
        return decimal(line, text, places), Status.COUNTED
    return Decimal(whole(line, text)), Status.COUNTED


def assemble(rows: Sequence[Row], asked: Collection[str] = ()) -> PerfResult:
    """Turn rows into readings, one for each metric.

    ``asked`` are the events that perf was told to count, as they were written on its command line. With them nothing
    can be missing or misnamed unnoticed.
    """
    if not rows:
        raise PerfOutputError("perf printed no event at all")
    _check_rates(rows)
    by_metric: dict[str, dict[Name, Reading]] = {}
    for row in rows:
        name = read_name(row.line, row.event)
        reading = _reading(row, name)
        known = by_metric.setdefault(name.metric, {})
        if known.setdefault(name, reading) != reading:
            raise row.line.error(f"{row.event!r} is printed twice with different numbers")
        if len({other.user_only for other in known}) > 1:
            raise row.line.error(f"{name.metric} is counted both in user space only and not")
        if len(known) > 1 and "" in {other.pmu for other in known}:
            raise row.line.error(f"{name.metric} is counted both on one PMU and on all")
    readings = {metric: _merge(parts) for metric, parts in by_metric.items()}
    user_only = frozenset(name.metric for parts in by_metric.values() for name in parts if name.user_only)
    return PerfResult(_complete(readings, user_only, asked), user_only)


def _reading(row: Row, name: Name) -> Reading:
    if name.metric in CLOCKS or name.metric == "task-clock":
        _check_clock(row, name)
    if row.count is None:
        return Reading(status=row.status, reason=_why(row, name))
    if row.runtime == 0:
        raise row.line.error("there is a count, but the counter did not run")
    if name.metric in CLOCKS and row.count == 0 and (not row.unit or name.metric == "elapsed"):
        # perf 7.2 prints every time of its own as "0" without a unit: it has not read its clock.
        return Reading(status=Status.NOT_COUNTED, reason=f"this version of perf does not read {row.event}: it shows 0")
    value = _in_units(row)
    if row.percent is not None and row.percent < 100:
        return Reading(status=Status.MULTIPLEXED, value=value, running_percent=float(row.percent))
    return Reading(value=value)


def _check_clock(row: Row, name: Name) -> None:
    unit = "msec" if name.metric == "task-clock" else "ns"
    if row.unit != unit and not (row.count == 0 or row.count is None):
        raise row.line.error(f"{row.event} comes in {unit}")


def _in_units(row: Row) -> int | float:
    """Return seconds for a time, and the bare count for everything else."""
    assert row.count is not None
    if row.unit:
        return float(row.count * _SECONDS[row.unit])
    return int(row.count)


def _why(row: Row, name: Name) -> str:
    if row.status is Status.NOT_SUPPORTED:
        return f"perf: {row.event} is not supported on this machine"
    if name.metric in {"user-time", "sys-time"}:
        return f"perf: {row.event} was not counted (perf before 6.12 says this of a time of zero too)"
    return f"perf: {row.event} was not counted"


def _merge(parts: dict[Name, Reading]) -> Reading:
    """Make one reading of what the PMUs of a hybrid processor counted, each on its type of core."""
    readings = list(parts.values())
    counted = {name.pmu: reading for name, reading in parts.items() if reading.value is not None}
    if not counted:
        return _none_counted(readings)
    if len(counted) == 1:
        return next(iter(counted.values()))
    total = sum(reading.value for reading in counted.values() if reading.value is not None)
    shares = [reading.running_percent for reading in counted.values() if reading.running_percent is not None]
    if not shares:
        return Reading(value=total)
    return Reading(
        status=Status.MULTIPLEXED,
        value=total,
        running_percent=min(shares),
        reason=f"sum of {' and '.join(counted)}: perf scales each as if the whole run had been on its cores",
    )


def _none_counted(readings: Sequence[Reading]) -> Reading:
    if len(readings) == 1:
        return readings[0]
    supported = any(reading.status is Status.NOT_COUNTED for reading in readings)
    reason = "; ".join(reading.reason for reading in readings if reading.reason)
    return Reading(status=Status.NOT_COUNTED if supported else Status.NOT_SUPPORTED, reason=reason[:1000])


def _complete(readings: dict[str, Reading], user_only: frozenset[str], asked: Iterable[str]) -> dict[str, Reading]:
    """Compare with what was asked for: perf 6.12 leaves out a time of its own that is zero, and nothing else."""
    if not asked:
        return readings
    wanted = [read_name(Line(0, event), event) for event in asked]
    for name in wanted:
        if name.metric in readings:
            continue
        if name.metric not in {"user-time", "sys-time"}:
            raise PerfOutputError(f"perf printed nothing about {name.metric}, which it was told to count")
        reason = "perf printed no line for it (perf 6.12 does so for a time of zero)"
        readings[name.metric] = Reading(status=Status.NOT_COUNTED, reason=reason)
    if unasked := readings.keys() - {name.metric for name in wanted}:
        raise PerfOutputError(f"perf printed events that it was not told to count: {', '.join(sorted(unasked))}")
    if lost := {name.metric for name in wanted if name.user_only} - user_only:
        raise PerfOutputError(f"told to count in user space only, perf says otherwise of {', '.join(sorted(lost))}")
    return readings


def _check_rates(rows: Sequence[Row]) -> None:
    """Check counts against the rates beside them: perf divides each count by the task clock.

    Where a digit was lost or changed, this is the only trace it leaves.
    """
    clocks = [row for row in rows if row.unit == "msec" and row.count is not None]
    if len(clocks) != 1 or not clocks[0].event.startswith("task-clock"):
        return  # perf divides by the mean of several clocks
    seconds = _span(clocks[0])
    for row in rows:
        match = _RATE.fullmatch(row.metric[1])
        if match is None or row.count is None or row.percent not in {None, 100} or row is clocks[0]:
            continue
        rate = decimal(row.line, row.metric[0]) * _PREFIX[match["prefix"]]
        slack = _half_step(row.metric[0]) * _PREFIX[match["prefix"]]
        if not (rate - slack) * seconds[0] - 1 < row.count < (rate + slack) * seconds[1] + 1:
            raise row.line.error(f"the count {row.count} does not fit the rate beside it and the task clock")


def _span(clock: Row) -> tuple[Decimal, Decimal]:
    """Return the seconds between which the task clock lies, as far as it is printed."""
    assert clock.count is not None
    if clock.runtime is not None:
        exact = clock.runtime * _SECONDS["ns"]
        return exact, exact
    step = Decimal("0.005")
    return max(Decimal(0), clock.count - step) * _SECONDS["msec"], (clock.count + step) * _SECONDS["msec"]


def _half_step(text: str) -> Decimal:
    places = len(re.split("[.,]", text)[-1])
    return Decimal(5).scaleb(-places - 1)
