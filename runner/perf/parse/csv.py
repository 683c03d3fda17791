"""``perf stat -x``: one row a line, fields between separators."""

import re
from collections.abc import Collection

from runner.perf.parse.lines import Line, PerfOutputError, lines_of
from runner.perf.parse.numbers import percent, whole
from runner.perf.parse.rows import PerfResult, Row, assemble, read_count

STARTED = re.compile(r"# started on \S.*")
"""Perf writes this above each run into a file (-o)."""


def parse_csv(text: str, separator: str = ";", *, asked: Collection[str] = ()) -> PerfResult:
    """Read the output of ``perf stat -x SEPARATOR``; see :func:`runner.perf.parse.rows.assemble` for ``asked``."""
    rows = [_row(line, separator) for line in rows_of(text) if not _is_metric_only(line, separator)]
    return assemble(rows, asked)


def rows_of(text: str) -> list[Line]:
    """Return the lines that hold something: no blank lines and no comment of perf's own, which is checked."""
    lines = [line for line in lines_of(text) if line.text.strip()]
    starts = [line for line in lines if STARTED.fullmatch(line.text)]
    if len(starts) > 1:
        raise starts[1].error("a second run begins here (perf stat --append): its counts are not the first one's")
    if text and not text.endswith("\n"):
        raise PerfOutputError("the last line does not end: the output is cut off", lines[-1].number, lines[-1].text)
    return [line for line in lines if line not in starts]


def _is_metric_only(line: Line, separator: str) -> bool:
    """Whether the line only goes on with more derived numbers of the event above it."""
    fields = line.text.split(separator)
    return len(fields) in {6, 7} and not any(fields[:4]) and bool(fields[-1])


def _row(line: Line, separator: str) -> Row:
    fields = line.text.split(separator)
    _refuse_other_modes(line, fields)
    if len(fields) not in {5, 7}:
        raise line.error(f"{len(fields)} fields between {separator!r}; a row of perf has 5 or 7")
    value, unit, event, runtime, share = fields[:5]
    count, status = read_count(line, value, unit, places=2)
    metric = (fields[5], fields[6]) if len(fields) == 7 else ("", "")
    return Row(line, event, unit, count, status, percent(line, share), whole(line, runtime), metric)


def _refuse_other_modes(line: Line, fields: list[str]) -> None:
    if re.fullmatch(r"\s*[0-9]+[.,][0-9]{9}", fields[0]):
        raise line.error("this is one interval of a run (perf stat -I), not the count of a run")
    if re.fullmatch(r"CPU[0-9]+|[SNDC][0-9]+(-[A-Z]+[0-9]+)*|.+-[0-9]+", fields[0]):
        raise line.error("this counts one CPU, socket, node or thread (perf stat -A, --per-…), not the program")
    if fields[0] == "summary":
        raise line.error("this is the summary of an interval run (perf stat -I --summary)")
    if len(fields) > 3 and fields[3].endswith("%"):
        raise line.error("this is a mean over several runs (perf stat -r), not the count of one")
