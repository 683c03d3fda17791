"""Parses ``perf stat -j``: one JSON object per line, including perf's deviations from JSON."""

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from runner.perf.parse.lines import Line, events_of
from runner.perf.parse.names import read_name
from runner.perf.parse.numbers import parse_whole, percent
from runner.perf.parse.readings import PerfResult, assemble
from runner.perf.parse.rows import MISSING, Row, read_count

_NEEDED = frozenset({"counter-value", "unit", "event", "event-runtime", "pcnt-running"})
_METRIC = frozenset({"metric-value", "metric-unit", "metric-threshold"})
_OTHER_MODES = {
    "variance": "this is a mean over several runs (perf stat -r), not the count of one",
    "interval": "this is one interval of a run (perf stat -I), not a whole run",
    "cgroup": "this is the count of a control group (perf stat -G)",
} | dict.fromkeys(
    ("aggregate-number", "counters", "core", "cpu", "die", "cluster", "cache", "node", "socket", "thread"),
    "this is the count of one CPU, socket, node or thread (perf stat -A, --per-…)",
)
_NOT_JSON = re.compile(r'"(?:[^"\\]|\\.)*"|(?P<comma>(?<=[0-9]),(?=[0-9]))|(?P<nan>-?\b(?:nan|inf)\b)')
"""A string, which stays as it is, or a number that perf prints in a form that JSON lacks."""


def parse_json(text: str, *, requested: Collection[str] = ()) -> PerfResult:
    """Parse ``perf stat -j``; see :func:`runner.perf.parse.readings.assemble` for ``requested``."""
    rows = [(line, _object(line)) for line in events_of(text)]
    return assemble([_row(line, document) for line, document in rows if not document.keys() <= _METRIC], requested)


def _object(line: Line) -> dict[str, str]:
    """Parse an object with every number left as text: no number may become a binary fraction."""

    def no_key_twice(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise line.error("a key occurs twice")
        return dict(pairs)

    try:
        document = json.loads(
            _NOT_JSON.sub(_mend, line.text), parse_int=str, parse_float=str, object_pairs_hook=no_key_twice
        )
    except (json.JSONDecodeError, RecursionError) as error:
        raise line.error("this is not a JSON object") from error
    if not isinstance(document, dict) or not document or not all(isinstance(value, str) for value in document.values()):
        raise line.error("this is not an object of texts and numbers")
    return document


def _mend(match: re.Match[str]) -> str:
    """Correct what the locale (``0,5``) or a division by zero (``nan``) made of JSON."""
    if match["comma"]:
        return "."
    return f'"{match[0]}"' if match["nan"] else match[0]


def _row(line: Line, found: dict[str, str]) -> Row:
    for key, meaning in _OTHER_MODES.items():
        if key in found:
            raise line.error(meaning)
    if missing := _NEEDED - found.keys():
        raise line.error(f"a key is missing: {', '.join(sorted(missing))}")
    if more := found.keys() - _NEEDED - _METRIC:
        raise line.error(f"unknown key {', '.join(sorted(more))}")
    name = read_name(line, found["event"])
    value = _count_text(line, found["counter-value"], found["unit"])
    count = read_count(line, value, found["unit"], name.metric, places=6)
    running = percent(line, found["pcnt-running"])
    scaled = running if running < 100 else None
    metric = (found.get("metric-value", ""), found.get("metric-unit", ""))
    if metric[1] in {"", "(null)"} and re.search("[1-9]", metric[0]):
        raise line.error("there is a derived number without a unit")
    return Row(line, found["event"], name, count, scaled, parse_whole(line, found["event-runtime"]), metric)


def _count_text(line: Line, value: str, unit: str) -> str:
    """Return the count as the other formats print it: perf prints six decimal places here, of whole numbers too."""
    if unit == "msec" or value in MISSING:
        return value
    integer, _, fraction = value.replace(",", ".").partition(".")
    if fraction != "0" * 6:
        raise line.error(f"{value!r} is not a whole number with six zeros after the decimal point")
    return integer
