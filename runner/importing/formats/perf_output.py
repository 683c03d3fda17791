"""Reads the output of ``perf stat`` in any of its formats, as one run with one sample."""

import re
from datetime import UTC, datetime

from pydantic import ValidationError

from runner.contract.report import IMPORT_FORMAT, Sample
from runner.errors import FaultwatchError
from runner.importing.imported_run import ImportDefaults, ImportedRun
from runner.importing.provenance import locate_result
from runner.importing.source import Source, describe_first_mistake
from runner.perf.parse import PerfOutputError, PerfResult, parse_csv, parse_json, parse_text

FORMAT_NAME = "perf-stat"
_SEPARATORS = ";,|\t@"
_MAX_OUTPUT_CHARACTERS = 100_000
"""How many characters of the output a report may contain."""
_START_LINE = re.compile(r"^# started on (\w{3} \w{3} +\d+ \d\d:\d\d:\d\d \d{4})", re.MULTILINE)


def recognises(source: Source) -> bool:
    """Return whether this is the output of ``perf stat``, complete or not."""
    event_lines = _list_event_lines(source.text)
    if "Performance counter stats for" in source.text or _START_LINE.search(source.text):
        return True
    try:
        _parse_perf_output(source.text, source.name)
    except FaultwatchError:
        # Recognise incomplete output of -j too, but not of -x, which looks like any CSV file.
        return bool(event_lines) and event_lines[0].lstrip().startswith('{"counter-value"')
    return True


def read(source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read the output of one ``perf stat``: plain text, or that of ``-j``, or of ``-x`` with any usual separator.

    The output contains no revision and no case. The time is that of the first line, which is a local time if perf
    itself wrote the file, else as :func:`locate_result` finds it.

    Raises
    ------
    FaultwatchError
        The file is not the output of a single ``perf stat``, or the revision is unknown.
    """
    format_option, result = _parse_perf_output(source.text, source.name)
    elapsed = result.readings.get("elapsed")
    placement = locate_result(source, defaults, source.name, time=_find_start(source.text, source.name))
    return [
        ImportedRun(
            location=source.name,
            revision=placement.revision,
            case=defaults.case,
            started_at=placement.time,
            samples=(Sample(readings=result.readings, perf_output=source.text[:_MAX_OUTPUT_CHARACTERS]),),
            settings={
                IMPORT_FORMAT: f"perf stat {format_option}",
                "counting.scope": "user" if result.user_only else "user+kernel",
            },
            seconds=float(elapsed.value) if elapsed and elapsed.value else 0.0,
            time_is_known=placement.time_is_known,
        )
    ]


def _parse_perf_output(text: str, name: str) -> tuple[str, PerfResult]:
    """Return the option of perf that gives the format of its output (``text`` for none), and its parsed content.

    Raises
    ------
    FaultwatchError
        The text is not the output of a single ``perf stat``.
    """
    event_lines = _list_event_lines(text)
    try:
        if "Performance counter stats for" in text:
            return "text", parse_text(text)
        if event_lines and event_lines[0].lstrip().startswith("{"):
            return "-j", parse_json(text)
        return "-x", parse_csv(text, _detect_separator(event_lines))
    except (PerfOutputError, ValidationError) as error:
        reason = describe_first_mistake(error) if isinstance(error, ValidationError) else error
        raise FaultwatchError(
            f"{name} is not the output of a single perf stat run: {reason}", "a CSV file of many runs needs --columns"
        ) from None


def _list_event_lines(text: str) -> list[str]:
    """Return the lines that report events: neither empty ones nor comments."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def _detect_separator(event_lines: list[str]) -> str:
    """Return the separator: the first possible one that follows the count."""
    first_line = event_lines[0] if event_lines else ""
    match = re.match(rf"[^{re.escape(_SEPARATORS)}]*([{re.escape(_SEPARATORS)}])", first_line)
    return match[1] if match else ","


def _find_start(text: str, name: str) -> datetime | None:
    """Return the time at which perf began, converted from local time to UTC; None if the output does not contain it.

    Raises
    ------
    FaultwatchError
        The output contains a time that does not exist.
    """
    match = _START_LINE.search(text)
    if match is None:
        return None
    try:
        return datetime.strptime(match[1], "%a %b %d %H:%M:%S %Y").astimezone(UTC)
    except (ValueError, OverflowError):  # no day of the calendar, or one that no time zone can shift
        raise FaultwatchError(f"{name}: {match[1]!r} is not a time") from None
