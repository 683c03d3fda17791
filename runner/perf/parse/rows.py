"""Events as perf printed them, in any format."""

from decimal import Decimal

from msgspec import Struct

from runner.contract.report import Status
from runner.perf.parse.lines import Line
from runner.perf.parse.names import CPU_CLOCKS, OWN_CLOCKS, Name
from runner.perf.parse.numbers import is_decimal, parse_decimal, parse_whole_number

STATUS_BY_MISSING_COUNT = {"<not counted>": Status.NOT_COUNTED, "<not supported>": Status.NOT_SUPPORTED}
SECONDS_PER_UNIT = {"msec": Decimal("1e-3"), "ns": Decimal("1e-9")}


class Count(Struct, frozen=True):
    """The printed count of an event: a number with a unit, or the status that says why there is none."""

    value: Decimal | None
    unit: str = ""
    status: Status = Status.COUNTED
    half_step: Decimal = Decimal(0)
    """The rounding error of the number: half of its last decimal place."""
    printed: bool = True
    """Whether perf printed a number, even if it has no meaning."""


class Row(Struct, frozen=True):
    """One event as perf printed it.

    Attributes
    ----------
    percent
        The percentage of the run for which the counter ran, if perf scaled the count up.
    runtime
        The nanoseconds for which the counter ran, if printed.
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
    """Parse the count of a row.

    Only times in milliseconds have decimal places; ``places`` is their number in this format. Some versions leave out
    the unit of a time: perf 4.15 prints the task clock in milliseconds, with six places, and perf 6.17 and 7.2 print
    nanoseconds.

    Raises
    ------
    PerfOutputError
        The text is not a count with this unit.
    """
    time_unit = ""
    if metric in OWN_CLOCKS:
        time_unit = "ns"
    elif metric in CPU_CLOCKS:
        time_unit = "msec"
    if unit not in {"", time_unit}:
        raise line.make_error(f"unknown unit {unit!r} (perhaps a column that perf adds with -I, -A, --per-… or -G)")
    if text in STATUS_BY_MISSING_COUNT:
        return Count(value=None, unit=unit, status=STATUS_BY_MISSING_COUNT[text], printed=False)
    if not unit and metric in CPU_CLOCKS and is_decimal(text):
        unit, places = "msec", 6
    if unit == "msec":
        # perf rounds, so the exact time may differ by half a unit of the last decimal place.
        return Count(parse_decimal(line, text, places), unit, half_step=Decimal(5).scaleb(-places - 1))
    value = Decimal(parse_whole_number(line, text))
    if metric in OWN_CLOCKS and value == 0 and (not unit or metric == "elapsed"):
        # perf 7.2 always prints the times of its own clocks as "0" without a unit.
        return Count(value=None, unit=unit, status=Status.NOT_COUNTED)
    return Count(value, "ns" if time_unit else "")
