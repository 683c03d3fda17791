"""Parses the text output of ``perf stat``: aligned columns, digits grouped according to the locale."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.report import Reading
from runner.perf.parse.lines import Line, PerfOutputError, split_lines
from runner.perf.parse.names import read_name
from runner.perf.parse.numbers import is_decimal, parse_decimal, parse_percent
from runner.perf.parse.readings import PerfResult, assemble_readings
from runner.perf.parse.rows import STATUS_BY_MISSING_COUNT, Row, read_count

_HEADER = re.compile(r"\s*Performance counter stats for (?P<whom>.*)")
_HEADER_END = re.compile(r".*'(?P<runs> \([0-9]+ runs\))?:", re.DOTALL)
_FOOTER = re.compile(r" *(?P<seconds>[0-9]+[.,][0-9]+) seconds (?P<what>time elapsed|user|sys) *")
_FOOTERS = {"time elapsed": "elapsed", "user": "user-time", "sys": "sys-time"}
_NOTES = re.compile(
    r"Some events weren't counted\. Try disabling the NMI watchdog:|\s+echo [01] > /proc/sys/kernel/nmi_watchdog"
    r"|\s+perf stat \.\.\.|The events in group usually have to be from|the same PMU\. Try reorganizing the group\."
)
_GROUPING = ",.'’ \u00a0\u202f"
"""The characters by which locales separate groups of digits."""
_COUNT_COLUMNS = 18
"""The number of columns in which perf right-aligns counts."""
_EVENT = re.compile(
    rf" *(?P<count><not counted>|<not supported>|[0-9](?:[0-9{_GROUPING}]*[0-9])?) +"
    r"(?:(?P<unit>\S+) +)??(?P<event>[^\s#(]+(?: \[\w+\])?)(?: (?P<old_unit>\(msec\)))?"
    r"(?: +#(?P<metric>[^#()]*))?(?: +\((?P<running>[0-9]+[.,][0-9]+)%\))? *"
)
_METRIC = re.compile(r" *(?P<value>[0-9]+(?:[.,][0-9]+)?|-?nan|-?inf)(?P<unit> ?%? *\S.*?) *| *")
_METRIC_ONLY = re.compile(r" {50,}#[^#]*\S *| {18,}TopdownL[0-9]\b.*")
"""A line that contains only further derived numbers of the event above; the columns before them are empty."""


class _Event(Struct, frozen=True):
    """The unparsed line of an event: what commas and points mean is known only after the whole output is read."""

    line: Line
    match: re.Match[str]

    @property
    def count(self) -> str:
        return self.match["count"]


def parse_text(text: str, *, requested_events: Collection[str] = ()) -> PerfResult:
    """Parse the text output of ``perf stat``; see :func:`runner.perf.parse.readings.assemble_readings`.

    Everything above perf's heading is ignored: the program may have written it.

    Raises
    ------
    PerfOutputError
        The text is not such an output of a single run.
    """
    events, footers = _split_events_and_footers(_cut_body(split_lines(text)))
    decimal_point = _detect_decimal_point(footers)
    _check_columns(events)
    plain_counts = _remove_grouping(events, decimal_point)
    rows = [_make_row(event, digits, decimal_point) for event, digits in zip(events, plain_counts, strict=True)]
    times = {kind: parse_decimal(line, seconds, places=9) for kind, (line, seconds) in footers.items()}
    result = assemble_readings(rows, requested_events) if rows else PerfResult({})
    readings = dict(result.readings)
    for kind, seconds in times.items():
        # A requested event with the same meaning as a time in the footer takes precedence if perf counted it.
        if kind not in readings or readings[kind].value is None:
            readings[kind] = Reading(value=float(seconds))
    return replace(result, readings=readings)


def _cut_body(lines: Sequence[Line]) -> Sequence[Line]:
    """Return the lines below perf's heading, which may span several lines because it quotes the command.

    Raises
    ------
    PerfOutputError
        There is no heading, or more than one, or it is that of something else than one run of a program.
    """
    starts = [index for index, line in enumerate(lines) if _HEADER.fullmatch(line.text)]
    if not starts:
        raise PerfOutputError("there is no line 'Performance counter stats for …': this is not a perf stat report")
    if len(starts) > 1:
        raise lines[starts[1]].make_error(
            "a second run begins here, but each output must contain a single run: run perf stat without --append"
        )
    start = starts[0]
    if re.search(r"stats for '(system wide|CPU\(s\) |BPF program)", lines[start].text):
        raise lines[start].make_error(
            "these are the counts of a whole machine, not of a program: run perf stat without -a, -C and -b"
        )
    for end in range(start, len(lines) - 1):
        match = _HEADER_END.fullmatch(lines[end].text)
        if match and not lines[end + 1].text.strip():
            if match["runs"]:
                raise lines[end].make_error(
                    "these are means over several runs, not the counts of one: run perf stat without -r"
                )
            _refuse_displaced_lines(lines[: end + 1])
            return lines[end + 1 :]
    raise lines[start].make_error("the heading is incomplete")


def _refuse_displaced_lines(lines: Sequence[Line]) -> None:
    """Raise if lines that look like a part of the report are above or within its heading."""
    for line in lines:
        event = _EVENT.fullmatch(line.text)
        if _FOOTER.fullmatch(line.text) or (event and event.end("count") == _COUNT_COLUMNS):
            raise line.make_error("this looks like a part of perf's report, but is not below its heading")


def _split_events_and_footers(lines: Sequence[Line]) -> tuple[list[_Event], dict[str, tuple[Line, str]]]:
    """Return the events and the times at the end of perf's text output."""
    events: list[_Event] = []
    footers: dict[str, tuple[Line, str]] = {}
    for line in lines:
        if not line.text.strip() or (footers and _NOTES.fullmatch(line.text)):
            continue
        footer = _FOOTER.fullmatch(line.text)
        if footer:
            if footers.setdefault(_FOOTERS[footer["what"]], (line, footer["seconds"]))[1] != footer["seconds"]:
                raise line.make_error("this time occurs twice, with different values")
        elif footers:
            raise line.make_error("the times at the end of perf's output cannot be followed by this line")
        elif match := _EVENT.fullmatch(line.text):
            events.append(_Event(line, match))
        elif not (events and _METRIC_ONLY.fullmatch(line.text)):
            raise line.make_error("this is not an event with a count")
    if "elapsed" not in footers:
        raise PerfOutputError("the line '… seconds time elapsed' is missing: the output is cut off")
    return events, footers


def _detect_decimal_point(footers: dict[str, tuple[Line, str]]) -> str:
    """Return the locale's decimal point from the times at the end, which always have one and never grouped digits."""
    points = {re.sub("[0-9]", "", seconds) for _, seconds in footers.values()}
    if len(points) > 1:
        raise next(iter(footers.values()))[0].make_error("the times at the end use different decimal separators")
    return points.pop()


def _check_columns(events: Sequence[_Event]) -> None:
    """Check that all counts end in the same column, as perf aligns them: a lost or added digit would shift its line."""
    # A count that fills all columns cannot be checked: it shifts the rest of its line anyway.
    aligned_events = [event for event in events if len(event.count) < _COUNT_COLUMNS]
    ends = Counter(event.match.end("count") for event in aligned_events)
    usual_end = max(ends, key=ends.__getitem__, default=0)
    for event in aligned_events:
        if event.match.end("count") != usual_end:
            raise event.line.make_error(
                "the count is not aligned with the others: the text was changed after perf wrote it"
            )


def _remove_grouping(events: Sequence[_Event], decimal_point: str) -> list[str]:
    """Return the digits of each count, after checking that all counts are grouped as in the same locale."""
    numbers = [_GroupedNumber.parse(event, decimal_point) for event in events]
    separators = {number.separator: number for number in numbers if number.separator}
    if len(separators) > 1:
        raise list(separators.values())[1].line.make_error(
            "the digits are grouped by a different character than in the lines above"
        )
    styles = {number.style: number for number in numbers if number.style}
    if len(styles) > 1:
        raise list(styles.values())[1].line.make_error("only some numbers use the Indian way of grouping digits")
    if separators:
        for number in numbers:
            if number.may_be_grouped and not number.separator and len(number.groups[0]) > 3:
                raise number.line.make_error(
                    "the digits of this number are not grouped, but the digits of another number are"
                )
    return ["".join(number.groups) + number.fraction for number in numbers]


class _GroupedNumber(Struct, frozen=True):
    """A count, split into groups of digits."""

    line: Line
    groups: tuple[str, ...]
    separator: str
    fraction: str
    may_be_grouped: bool

    @classmethod
    def parse(cls, event: _Event, decimal_point: str) -> "_GroupedNumber":
        """Split a count into groups: the last one has three digits; the others have three, or two as in India."""
        text, fraction = event.count, ""
        if text in STATUS_BY_MISSING_COUNT:
            return cls(event.line, (text,), "", "", may_be_grouped=False)
        if decimal_point in text:
            text, _, fraction = text.rpartition(decimal_point)
            fraction = "." + fraction
        separators = set(text) - set("0123456789")
        groups = tuple(re.split(f"[{_GROUPING}]", text))
        if decimal_point in separators:
            raise event.line.make_error(f"{event.count!r} has more than one decimal point")
        if len(separators) > 1:
            raise event.line.make_error(f"{event.count!r} has more than one kind of character between its digits")
        number = cls(event.line, groups, "".join(separators), fraction, may_be_grouped=not event.match["old_unit"])
        if separators and not (number.is_western or number.is_indian):
            raise event.line.make_error(f"no locale groups digits as in {event.count!r}")
        return number

    @property
    def is_western(self) -> bool:
        """Whether digits are grouped in threes, as in ``1,234,567``."""
        return 1 <= len(self.groups[0]) <= 3 and all(len(group) == 3 for group in self.groups[1:])

    @property
    def is_indian(self) -> bool:
        """Whether digits are grouped the Indian way, as in ``12,34,567``."""
        return (
            1 <= len(self.groups[0]) <= 2
            and all(len(group) == 2 for group in self.groups[1:-1])
            and len(self.groups[-1]) == 3
        )

    @property
    def style(self) -> str:
        """How the digits are grouped: ``western`` or ``indian``; empty if they are not grouped, or if both fit."""
        if not self.separator or self.is_western == self.is_indian:
            return ""
        return "western" if self.is_western else "indian"


def _make_row(event: _Event, digits: str, decimal_point: str) -> Row:
    """Return the row of one event, with its unit and its derived metric."""
    line, match = event.line, event.match
    name = read_name(line, match["event"])
    # Versions that print the unit in brackets after the event print times with six decimal places; others print two.
    unit = match["unit"] or ("msec" if match["old_unit"] else "")
    count = read_count(line, digits, unit, name.metric, places=6 if match["old_unit"] else 2)
    metric = _parse_metric(line, match["metric"] or "", decimal_point)
    running_percent = parse_percent(line, match["running"]) if match["running"] else None
    if running_percent is not None and decimal_point not in match["running"]:
        raise line.make_error("the percentage and the times at the end use different decimal separators")
    return Row(line, match["event"], name, count, running_percent, runtime=None, metric=metric)


def _parse_metric(line: Line, text: str, decimal_point: str) -> tuple[str, str]:
    """Return the value and the unit of the derived number that follows an event; both are empty if there is none.

    A decimal number must contain the decimal point of the times at the end: perf prints both in the same locale.
    """
    match = _METRIC.fullmatch(text)
    if not match or (match["value"] and is_decimal(match["value"]) and decimal_point not in match["value"]):
        raise line.make_error(
            "the text after # is not a number with a unit, "
            "or its decimal point differs from that of the times at the end"
        )
    return match["value"] or "", (match["unit"] or "").strip()
