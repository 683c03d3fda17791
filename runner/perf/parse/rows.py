"""One event as perf printed it, in whichever format."""

from dataclasses import dataclass
from decimal import Decimal

from runner.contract.report import Status
from runner.perf.parse.lines import Line
from runner.perf.parse.names import CPU_CLOCKS, OWN_CLOCKS, Name
from runner.perf.parse.numbers import decimal, is_decimal, whole

MISSING = {"<not counted>": Status.NOT_COUNTED, "<not supported>": Status.NOT_SUPPORTED}
SECONDS = {"msec": Decimal("1e-3"), "ns": Decimal("1e-9")}


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
