"""Parses ``perf stat -j``: one JSON object per line, including perf's deviations from JSON."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from runner.contract.word_list import join_words
from runner.perf.parse.lines import Line, list_event_lines
from runner.perf.parse.names import read_name
from runner.perf.parse.numbers import parse_percent, parse_whole_number
from runner.perf.parse.readings import PerfResult, assemble_readings
from runner.perf.parse.rows import STATUS_BY_MISSING_COUNT, Row, read_count

_REQUIRED_KEYS = frozenset({"counter-value", "unit", "event", "event-runtime", "pcnt-running"})
_METRIC_KEYS = frozenset({"metric-value", "metric-unit", "metric-threshold"})
_OTHER_MODES = {
    "variance": "this is a mean over several runs, not the count of one: run perf stat without -r",
    "interval": "this is one interval of a run, not a whole run: run perf stat without -I",
    "cgroup": "this is the count of a control group: run perf stat without -G",
} | dict.fromkeys(
    ("aggregate-number", "counters", "core", "cpu", "die", "cluster", "cache", "node", "socket", "thread"),
    "this is the count of one CPU, socket, node or thread: run perf stat without -A and --per-…",
)
_NOT_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<comma>(?<=[0-9]),(?=[0-9]))|(?P<nan>-?\b(?:nan|inf)\b)')
"""A string, which is kept, or a number in a form that perf prints but JSON does not allow."""


def parse_json(text: str, *, requested_events: Collection[str] = ()) -> PerfResult:
    """Parse ``perf stat -j``; see :func:`runner.perf.parse.readings.assemble_readings` for ``requested_events``.

    Raises
    ------
    PerfOutputError
        The text is not such an output of a single run.
    """
    rows = [(line, _parse_object(line)) for line in list_event_lines(text)]
    return assemble_readings(
        [_make_row(line, document) for line, document in rows if not document.keys() <= _METRIC_KEYS], requested_events
    )


def _parse_object(line: Line) -> dict[str, str]:
    """Parse an object, but leave every number as text, so that none is rounded to a binary fraction.

    Raises
    ------
    PerfOutputError
        The line is not an object that contains only strings and numbers.
    """

    def refuse_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise line.make_error("a key occurs twice")
        return dict(pairs)

    try:
        document = json.loads(
            _NOT_JSON.sub(_repair_number, line.text),
            parse_int=str,
            parse_float=str,
            object_pairs_hook=refuse_duplicate_keys,
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise line.make_error("this is not a JSON object") from error
    if not isinstance(document, dict) or not document or not all(isinstance(value, str) for value in document.values()):
        raise line.make_error("this is not a JSON object that contains only strings and numbers")
    return document


def _repair_number(match: re.Match[str]) -> str:
    """Repair a number that the locale (``0,5``) or a division by zero (``nan``) has made invalid JSON."""
    if match["comma"]:
        return "."
    return f'"{match[0]}"' if match["nan"] else match[0]


def _make_row(line: Line, fields: dict[str, str]) -> Row:
    """Return the row that a line of ``perf stat -j`` describes; raise if it is not the count of one event."""
    for key, meaning in _OTHER_MODES.items():
        if key in fields:
            raise line.make_error(meaning)
    if missing_keys := _REQUIRED_KEYS - fields.keys():
        raise line.make_error(f"this line lacks {join_words(sorted(missing_keys))}")
    if unknown_keys := fields.keys() - _REQUIRED_KEYS - _METRIC_KEYS:
        noun = "key" if len(unknown_keys) == 1 else "keys"
        raise line.make_error(f"unknown {noun} {join_words(sorted(unknown_keys))}")
    name = read_name(line, fields["event"])
    value = _format_count(line, fields["counter-value"], fields["unit"])
    count = read_count(line, value, fields["unit"], name.metric, places=6)
    running_percent = parse_percent(line, fields["pcnt-running"])
    scaled_percent = running_percent if running_percent < 100 else None
    metric = (fields.get("metric-value", ""), fields.get("metric-unit", ""))
    # A derived number of 0 may lack its unit.
    if metric[1] in {"", "(null)"} and re.search("[1-9]", metric[0]):
        raise line.make_error("there is a derived number without a unit")
    return Row(
        line, fields["event"], name, count, scaled_percent, parse_whole_number(line, fields["event-runtime"]), metric
    )


def _format_count(line: Line, value: str, unit: str) -> str:
    """Return a count as the other formats print it: in JSON, perf prints even whole numbers with six decimal places.

    Raises
    ------
    PerfOutputError
        The decimal places are not six zeros.
    """
    if unit == "msec" or value in STATUS_BY_MISSING_COUNT:
        return value
    integer, _, fraction = value.replace(",", ".").partition(".")
    if fraction != "0" * 6:
        raise line.make_error(f"{value!r} is not a whole number with six zeros after the decimal point")
    return integer
