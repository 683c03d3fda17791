"""Parses ``perf stat -x``: one event per line, with separated fields."""

import re
from collections.abc import Collection, Sequence

from runner.perf.parse.lines import Line, list_event_lines
from runner.perf.parse.names import read_name
from runner.perf.parse.numbers import parse_percent, parse_whole_number
from runner.perf.parse.readings import PerfResult, assemble_readings
from runner.perf.parse.rows import Row, read_count

_INTERVAL = re.compile(r"\s*[0-9]+[.,][0-9]{9}")
_CPU_OR_THREAD = re.compile(r"CPU[0-9]+|[SNDC][0-9]+(-[A-Z]+[0-9]+)*|.*[^0-9<>]-[0-9]+")


def parse_csv(
    text: str, separator: str = ";", *, requested_events: Collection[str] = (), started_together: bool = True
) -> PerfResult:
    """Parse ``perf stat -x SEPARATOR``.

    For the other parameters, see :func:`runner.perf.parse.readings.assemble_readings`.

    Raises
    ------
    PerfOutputError
        The text is not such an output of a single run.
    """
    rows = [(line, line.text.split(separator)) for line in list_event_lines(text)]
    events = [_parse_row(line, fields) for line, fields in rows if not _is_metric_only(fields)]
    return assemble_readings(events, requested_events, started_together=started_together)


def _is_metric_only(fields: Sequence[str]) -> bool:
    """Return whether the line only continues the event above it with derived numbers."""
    return len(fields) in {6, 7} and not any(fields[:4]) and bool(fields[-1])


def _parse_row(line: Line, fields: Sequence[str]) -> Row:
    """Parse one line of ``perf stat -x``; raise if it is not the count of one event."""
    _refuse_other_modes(line, fields)
    if len(fields) == 1:
        raise line.make_error("this is not an event (use -o FILE to keep perf's messages out of its counts)")
    if len(fields) not in {5, 7}:
        raise line.make_error(f"perf prints 5 or 7 fields for an event, but this line has {len(fields)}")
    value, unit, event, runtime, share = fields[:5]
    name = read_name(line, event)
    count = read_count(line, value, unit, name.metric, places=2)  # -x prints times with two decimal places.
    running_percent = parse_percent(line, share)
    scaled_percent = running_percent if running_percent < 100 else None
    metric = (fields[5], fields[6]) if len(fields) == 7 else ("", "")  # the derived number and its unit
    return Row(line, event, name, count, scaled_percent, parse_whole_number(line, runtime), metric)


def _refuse_other_modes(line: Line, fields: Sequence[str]) -> None:
    """Raise if the line has columns that other options of perf add; the message names the option."""
    if _INTERVAL.fullmatch(fields[0]) and len(fields) > 7:
        raise line.make_error("this is one interval of a run, not a whole run: run perf stat without -I")
    if _CPU_OR_THREAD.fullmatch(fields[0]):
        raise line.make_error(
            "this is the count of one CPU, socket, node or thread: run perf stat without -A and --per-…"
        )
    if fields[0] == "summary":
        raise line.make_error("this is the summary of intervals: run perf stat without -I and --summary")
    if len(fields) > 3 and fields[3].endswith("%"):
        raise line.make_error("this is a mean over several runs, not the count of one: run perf stat without -r")
