"""From the rows of perf's output, whatever its format, to readings in the catalogue's units."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from runner.contract.metrics import CATALOGUE
from runner.contract.report import Reading, Status
from runner.perf.parse.lines import Line, PerfOutputError
from runner.perf.parse.names import CPU_CLOCKS, OWN_CLOCKS, Name, read_name
from runner.perf.parse.numbers import decimal, is_decimal, whole

MISSING = {"<not counted>": Status.NOT_COUNTED, "<not supported>": Status.NOT_SUPPORTED}
_SECONDS = {"msec": Decimal("1e-3"), "ns": Decimal("1e-9")}
_RATE = re.compile(r"(?P<prefix>[KMG]?)(?:[a-z-]*/sec|Hz)(?:  \w+)?")
_PREFIXES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_NO_NUMBER = re.compile(r"|-?nan|-?inf")


@dataclass(frozen=True, slots=True)
class PerfResult:
    """What perf counted.

    Attributes
    ----------
    readings
        By metric, in the catalogue's names and units. An event that was not counted is here too, with the reason.
    in_user_space
        The metrics that perf counted in user space only (``:u``): what happened in the kernel is not in them.
    """

    readings: dict[str, Reading]
    in_user_space: frozenset[str] = frozenset()

    @property
    def user_only(self) -> bool:
        """Whether perf counted anything in user space only, as it does where the kernel forbids more."""
        return bool(self.in_user_space)


@dataclass(frozen=True, slots=True)
class Count:
    """What perf printed as the count of an event: a number in a unit, or the reason why there is none."""

    value: Decimal | None
    unit: str = ""
    status: Status = Status.COUNTED
    half_step: Decimal = Decimal(0)
    """Half of the last decimal place: the number may be off by this much."""
    printed: bool = True
    """Whether perf printed a number, be it one that says nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One event as perf printed it.

    Attributes
    ----------
    percent
        Share of the run during which the counter ran, where perf scaled the count up for it.
    runtime
        Nanoseconds for which the counter ran, where perf printed them.
    metric
        The derived number that perf printed beside the count, and its unit.
    """

    line: Line
    event: str
    name: Name
    count: Count
    percent: Decimal | None = None
    runtime: int | None = None
    metric: tuple[str, str] = ("", "")


def read_count(line: Line, text: str, unit: str, metric: str, places: int) -> Count:
    """Read the count of a row. Only a time in milliseconds has decimal places.

    Some versions leave out the unit of a time. perf 4.15 prints the task clock in milliseconds, with six places;
    perf 6.17 and 7.2 print nanoseconds.
    """
    time_unit = "ns" if metric in OWN_CLOCKS else "msec" if metric in CPU_CLOCKS else ""
    if unit not in {"", time_unit}:
        raise line.error(f"unknown unit {unit!r} (or a column of perf's options -I, -A, --per-… or -G)")
    if text in MISSING:
        return Count(None, unit, MISSING[text], printed=False)
    if not unit and metric in CPU_CLOCKS and is_decimal(text):
        unit, places = "msec", 6
    if unit == "msec":
        return Count(decimal(line, text, places), unit, half_step=Decimal(5).scaleb(-places - 1))
    value = Decimal(whole(line, text))
    if metric in OWN_CLOCKS and value == 0 and (not unit or metric == "elapsed"):
        # perf 7.2 prints every time of its own as "0" without a unit, whatever it is.
        return Count(None, unit, Status.NOT_COUNTED)
    return Count(value, "ns" if time_unit else "")


def assemble(rows: Sequence[Row], asked: Collection[str] = ()) -> PerfResult:
    """Turn rows into readings, one for each metric.

    ``asked`` are the events that perf was told to count, as on its command line. Only with them nothing can be
    missing or misnamed unnoticed.
    """
    if not rows:
        raise PerfOutputError("perf printed no event at all")
    _check_clocks(rows)
    _check_rates(rows)
    by_metric: dict[str, dict[str, Row]] = {}
    for row in rows:
        parts = by_metric.setdefault(row.name.metric, {})
        twin = parts.setdefault(row.name.pmu, row)
        if twin.name != row.name or _reading(twin) != _reading(row):
            raise row.line.error(f"{row.event!r} is here twice, with different results")
        if len(parts) > 1 and "" in parts:
            raise row.line.error(f"{row.name.metric} is here both of one PMU and of all")
    for parts in by_metric.values():
        if len({row.name.user_only for row in parts.values()}) > 1:
            raise next(iter(parts.values())).line.error("one PMU counted in user space only, the other did not")
    readings = {metric: _merge([_reading(row) for row in parts.values()], parts) for metric, parts in by_metric.items()}
    in_user_space = frozenset(row.name.metric for row in rows if row.name.user_only)
    if asked:
        readings = _compared(readings, in_user_space, [read_name(Line(0, event), event) for event in asked])
    return PerfResult(readings, in_user_space)


def _reading(row: Row) -> Reading:
    count = row.count
    if row.runtime is not None and count.printed != (row.runtime > 0):
        raise row.line.error("a counter has a count where it ran, and only there")
    if count.value is None:
        return Reading(status=count.status, reason=_why(row))
    value = float(count.value * _SECONDS[count.unit]) if count.unit else int(count.value)
    if row.percent is None:
        return Reading(value=value)
    return Reading(status=Status.MULTIPLEXED, value=value, running_percent=float(row.percent))


def _why(row: Row) -> str:
    if row.count.status is Status.NOT_SUPPORTED:
        return f"perf: {row.event} is not supported on this machine"
    if row.name.metric in {"user-time", "sys-time"}:
        return f"perf did not count {row.event}, or it was zero: this version of perf shows both alike"
    return f"perf did not count {row.event}"


def _merge(readings: Sequence[Reading], pmus: Collection[str]) -> Reading:
    """Make one reading of what the PMUs of a hybrid processor counted, each on its type of core."""
    counted = [reading for reading in readings if reading.value is not None]
    if len(readings) == 1 or len(counted) == 1:
        return counted[0] if counted else readings[0]
    if not counted:
        status = Status.NOT_COUNTED if any(r.status is Status.NOT_COUNTED for r in readings) else Status.NOT_SUPPORTED
        return Reading(status=status, reason="; ".join(reading.reason or "" for reading in readings)[:1000])
    total = sum(reading.value for reading in counted if reading.value is not None)
    shares = [reading.running_percent for reading in counted if reading.running_percent is not None]
    if not shares:
        return Reading(value=total)
    reason = f"sum over {', '.join(pmus)}: perf scales each up as if its cores had run the program all the time"
    return Reading(status=Status.MULTIPLEXED, value=total, running_percent=min(shares), reason=reason)


def _compared(readings: dict[str, Reading], in_user_space: frozenset[str], asked: Sequence[Name]) -> dict[str, Reading]:
    """Compare with what was asked for. Only clocks may be missing: 4.15 leaves them out, 6.8 to 6.12 those at zero."""
    missing = [name.metric for name in asked if name.metric not in readings]
    if lost := [metric for metric in missing if metric not in OWN_CLOCKS]:
        raise PerfOutputError(f"perf printed nothing of {', '.join(lost)}, which it was told to count")
    if more := readings.keys() - {name.metric for name in asked}:
        raise PerfOutputError(f"perf printed what it was not told to count: {', '.join(sorted(more))}")
    if widened := {name.metric for name in asked if name.user_only} - in_user_space:
        raise PerfOutputError(f"perf was told to count in user space only, but did not: {', '.join(sorted(widened))}")
    reason = "perf printed nothing of it: some versions leave out their own clocks, or one that is at zero"
    return readings | {metric: Reading(status=Status.NOT_COUNTED, reason=reason) for metric in missing}


def _check_clocks(rows: Sequence[Row]) -> None:
    """Check the times for which counters ran against the clocks.

    A clock's own time settles its unit where perf prints none. The others' tell a count from a time.
    """
    for row in rows:
        count = row.count
        if row.name.metric not in CPU_CLOCKS or count.value is None or row.runtime is None:
            continue
        clock = count.value * _SECONDS[count.unit] / _SECONDS["ns"]
        if abs(clock - row.runtime) > row.runtime * Decimal("0.02") + 20_000:
            raise row.line.error("the clock does not fit the time for which its counter ran")
        for other in rows:
            if other.name.metric in CATALOGUE and other.name.metric not in OWN_CLOCKS and other.count.value is not None:
                _check_runtime(other, row.runtime)


def _check_runtime(row: Row, clock: int) -> None:
    """Check that a counter ran for its share of the CPU time, roughly: counters are started one after the other."""
    share = Decimal(1) if row.percent is None else row.percent / 100
    if row.runtime is not None and abs(row.runtime - share * clock) > (share / 2 + Decimal("0.02")) * clock + 100_000:
        raise row.line.error("the time for which the counter ran does not fit its share of the run")


def _check_rates(rows: Sequence[Row]) -> None:
    """Check counts against the rates beside them: perf divides each count by the task clock.

    Where a digit was lost or changed, this is the only trace it leaves.
    """
    clocks = [row for row in rows if row.name.metric in CPU_CLOCKS and row.count.value is not None]
    if len(clocks) != 1 or clocks[0].name.metric != "task-clock":
        return  # perf divides by the mean of all of them
    shortest, longest = _span(clocks[0])
    for row in rows:
        match = _RATE.fullmatch(row.metric[1])
        if not match or _NO_NUMBER.fullmatch(row.metric[0]) or row.count.value is None or row.percent is not None:
            continue
        low, high = _bounds(row.line, row.metric[0])
        least = low * _PREFIXES[match["prefix"]] * shortest
        most = high * _PREFIXES[match["prefix"]] * longest
        rounding = row.count.value * Decimal("1e-9") + Decimal("1e-3")
        if not least - rounding <= row.count.value <= most + rounding:
            raise row.line.error("the count does not fit the rate beside it and the task clock")


def _span(clock: Row) -> tuple[Decimal, Decimal]:
    """Return the seconds between which the task clock lies, as far as it is printed."""
    assert clock.count.value is not None
    scale = _SECONDS[clock.count.unit]
    least, most = (clock.count.value + sign * clock.count.half_step for sign in (-1, 1))
    if clock.runtime is not None and least * scale <= clock.runtime * _SECONDS["ns"] <= most * scale:
        return clock.runtime * _SECONDS["ns"], clock.runtime * _SECONDS["ns"]
    return least * scale, most * scale


def _bounds(line: Line, rate: str) -> tuple[Decimal, Decimal]:
    """Return the numbers between which a rate lies. Where the decimal point is a comma, -x cuts it off there."""
    if not is_decimal(rate):
        return Decimal(whole(line, rate)), Decimal(whole(line, rate) + 1)
    places = len(re.split("[.,]", rate)[-1])
    middle, half_step = decimal(line, rate, places), Decimal(5).scaleb(-places - 1)
    return middle - half_step, middle + half_step
