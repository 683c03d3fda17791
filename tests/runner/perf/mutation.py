"""Damage perf's output, and judge what the parser makes of it: no wrong number without an error.

Not all damage can be seen. If one digit of a count became another, the result is exactly what perf prints for
another run, and no parser can tell. So the property is stated by what is left of each event's line:

- A line that is unchanged gives the reading it gave before.
- A line that is gone takes its reading with it, and no other. With ``requested``, its absence is an error.
- A changed line that was read differs from the original in one column only:
  the count (the reading is then what these digits say, and no farther from the original than the rate beside the
  count and the alignment of the columns leave room for), or the name (with ``requested`` this is an error), or columns
  that carry no count (the value is then what it was).

The lines are cut into columns here, by other means than the parser's.
"""

import difflib
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from runner.contract.report import Reading, Status
from runner.perf.parse import PerfOutputError
from tests.runner.perf.recordings import Output

ALIASES = {
    "faults": "page-faults",
    "cs": "context-switches",
    "migrations": "cpu-migrations",
    "cpu-cycles": "cycles",
    "duration_time": "elapsed",
    "user_time": "user-time",
    "system_time": "sys-time",
    "seconds time elapsed": "elapsed",
    "seconds user": "user-time",
    "seconds sys": "sys-time",
}
CLOCKS = {"elapsed", "user-time", "sys-time", "task-clock", "cpu-clock"}
PREFIX = {"K": 10**3, "M": 10**6, "G": 10**9}


@dataclass(frozen=True)
class Columns:
    """The columns of one event's line."""

    count: str
    unit: str
    event: str
    rest: tuple[str, ...]
    end: int = 0
    """Where the count ends, in a format that aligns it."""

    @property
    def metric(self) -> str:
        term = re.sub(r"^\w+/([^/]+)/", r"\1:", self.event)
        term = re.sub(r"(:[ukhHGIpPSDWebR]*)+$", "", term)
        return ALIASES.get(term, term)

    @property
    def value(self) -> float:
        """The number that the count's digits make, in seconds for a time."""
        digits = re.sub("[^0-9]", "", self.count)
        decimals = re.search(r"[.,]([0-9]{2}|[0-9]{6}|[0-9]{9})$", self.count)
        is_clock = self.metric in CLOCKS
        if self.event.startswith("seconds"):
            return float(Decimal(digits).scaleb(-9))
        if is_clock and (self.unit == "msec" or (not self.unit and decimals and set(decimals[1]) != {"0"})):
            return float(Decimal(digits).scaleb(-3 - len(decimals[1] if decimals else "")))
        whole = digits[:-6] if re.search(r"[.,]000000$", self.count) else digits
        return float(Decimal(whole).scaleb(-9)) if is_clock else int(whole)


def columns(line: str, output: Output) -> Columns | None:
    """Cut a line; None where it is no event's."""
    if output.format == "csv":
        fields = line.split(output.separator)
        return Columns(fields[0], fields[1], fields[2], tuple(fields[3:])) if len(fields) > 4 and fields[2] else None
    if output.format == "json":
        found = dict(re.findall(r'"([a-z-]+)" *: *"?((?:[^",}]|,(?=[0-9]))*)"?', line))
        names = ("counter-value", "unit", "event")
        if not all(name in found for name in names):
            return None
        rest = tuple(found.get(key, "") for key in ("event-runtime", "pcnt-running", "metric-value", "metric-unit"))
        return Columns(found["counter-value"], found["unit"], found["event"], rest)
    footer = re.match(r" *(\S+) (seconds time elapsed|seconds user|seconds sys)\s*$", line)
    if footer:
        return Columns(footer[1], "", footer[2], ())
    left, _, right = line.replace(" (msec)", "").partition("#")
    event = re.match(r" *(<[a-z ]+>|[0-9][^ ]*) +(?:(msec|ns) +)?([^ ]+) *(.*)$", left)
    if not event:
        return None
    unit = "msec" if " (msec)" in line else event[2] or ""
    return Columns(event[1], unit, event[3], (*right.split(), event[4]), event.end(1))


def fate(output: Output, damaged: str, requested: tuple[str, ...] = ()) -> tuple[str, str]:
    """Say what became of a damaged output, and what is wrong with that: nothing, where that is empty."""
    try:
        after = output.parse(damaged, requested).readings
    except PerfOutputError:
        return "refused", ""
    except Exception as error:
        return "WRONG", f"{type(error).__name__}: {error}"
    before = _readings(output, requested)
    if problem := _judge(output, damaged, before, after, requested):
        return "WRONG", problem
    if after == before:
        return "same readings", ""
    return ("fewer readings" if after.items() <= before.items() else "another output"), ""


@cache
def _readings(output: Output, requested: tuple[str, ...]) -> dict[str, Reading]:
    return output.parse(requested_events=requested).readings


def _judge(
    output: Output, damaged: str, before: dict[str, Reading], after: dict[str, Reading], requested: tuple[str, ...]
) -> str:
    old, new = output.text.split("\n"), damaged.split("\n")
    lost = [line for line in old if line not in new and columns(line, output)]
    rest = _readings_of_rest(output, frozenset(line for line in lost if "elapsed" not in line))
    come = [Change.of(line, old, output) for line in new if line not in old and line.strip()]
    wrong = []
    for metric, reading in after.items():
        mine = [change for change in come if metric in {change.now.metric, re.sub("[a-zA-Z]*$", "", change.now.event)}]
        problem = _judge_reading(reading, rest.get(metric), mine, requested) if reading != before.get(metric) else ""
        wrong += [f"{metric}: {problem}"] if problem else []
    dropped = {metric for metric in rest if metric not in after}
    dropped |= {change.was.metric for change in come if change.now.metric in {change.was.metric, ""}} - {*after, ""}
    return "; ".join(wrong + [f"{metric}: dropped, though its line is there" for metric in dropped])


@cache
def _readings_of_rest(output: Output, without: frozenset[str]) -> dict[str, Reading]:
    """Return the readings of the lines that are still as they were."""
    lines = output.text.split("\n")
    try:
        return output.parse("\n".join(line for line in lines if line not in without)).readings
    except PerfOutputError:
        # What is left contradicts itself, as where one of two clocks is gone that a rate is made of.
        kept = {found.metric for line in lines if line not in without and (found := columns(line, output))}
        return {metric: reading for metric, reading in _readings(output, ()).items() if metric in kept}


@dataclass(frozen=True)
class Change:
    """A line that was not there before, and the one that it most likely was."""

    was: Columns
    now: Columns
    output: Output

    @classmethod
    def of(cls, line: str, old: list[str], output: Output) -> "Change":
        """Find the line that it was. One that cannot be cut any more stands for itself, with nothing in it."""
        now = columns(line, output) or NOTHING

        def likeness(other: str) -> tuple[bool, int]:
            was = columns(other, output)
            same_metric = was is not None and was.metric == now.metric
            return same_metric, _shared(other, line) + _shared(other[::-1], line[::-1])

        return cls(columns(max(old, key=likeness), output) or NOTHING, now, output)

    @property
    def count_was_there(self) -> bool:
        """Whether any line had this count: the damage may have joined the start of one line to the end of another."""
        lines = [columns(line, self.output) for line in self.output.text.split("\n")]
        return any(line is not None and line.count == self.now.count for line in lines)

    @property
    def is_part(self) -> bool:
        """Whether the reading is made of several lines: what a hybrid processor's PMUs counted."""
        lines = [columns(line, self.output) for line in self.output.text.split("\n")]
        return sum(line is not None and line.metric == self.was.metric and "/" in line.event for line in lines) > 1


def _shared(one: str, two: str) -> int:
    """Return how many characters two lines share from the start."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(two)))


NOTHING = Columns("", "", "", ())


def _judge_reading(reading: Reading, rest: Reading | None, changes: list[Change], requested: tuple[str, ...]) -> str:
    if rest and _essence(rest) == _essence(reading):
        return ""
    if (
        not changes
        and requested
        and rest is None
        and reading.status is Status.NOT_COUNTED
        and "printed no result" in str(reading.reason)
    ):
        return ""
    if not changes:
        return f"{_essence(reading)} from nowhere"
    was, now = changes[-1].was, changes[-1].now
    if reading.value is not None and reading.value != now.value and not changes[-1].is_part:
        return f"read {reading.value} where {now.count!r} stands"
    same = [name for name in ("count", "unit", "event", "rest") if getattr(was, name) == getattr(now, name)]
    if same == ["unit", "event", "rest"]:
        return _judge_count(was, now, changes[-1].output)
    if "event" not in same and changes[-1].count_was_there:
        return "misnamed, though it is known what was requested for" if requested else ""
    if was.metric in {"task-clock", "cpu-clock"} and reading.value and abs(now.value - was.value) <= 0.02 * was.value:
        # A CPU clock and the time for which it ran are nearly the same number: no one can tell them apart.
        return ""
    whole = _readings(changes[-1].output, ()).get(was.metric)
    if {"count", "event"} <= set(same) and whole and reading.value in {None, was.value, whole.value}:
        return ""
    return f"{_essence(reading)} from a line of which only {same} is as it was"


def _essence(reading: Reading) -> tuple[object, ...]:
    return reading.status.value, reading.value, reading.running_percent


def _judge_count(old: Columns, new: Columns, output: Output) -> str:
    """Another count in the same place: as far as the rest of the output says, it may be the true one."""
    if not re.search("[0-9]", old.count):
        return "a number where none was" if re.search("[0-9]", new.count) else ""
    if old.end != new.end and sum(bool(columns(line, output)) for line in output.text.split("\n")) > 4:
        return "a count out of line"
    room = _room(old, output)
    if room is not None and not re.search("[0-9]", new.count):
        return "no number, though a rate stands beside it"
    if room is not None and abs(new.value - old.value) > room:
        return f"{new.value} does not match its rate: {old.value} ± {room}"
    return ""


def _room(old: Columns, output: Output) -> float | None:
    """Return how far a count may be from the original without a contradiction to its rate; None where it has none."""
    events = [found for line in output.text.split("\n") if (found := columns(line, output))]
    clocks = [found for found in events if found.metric in {"task-clock", "cpu-clock"} and found.count[0].isdigit()]
    rest = old.rest if output.format == "text" else old.rest[2:]
    if len(clocks) != 1 or old.metric == "task-clock" or len(rest) < 2 or _percent(old, output) < 100:
        return None
    rate, unit = rest[0], rest[1]
    match = re.match(r"([KMG]?)(?:[a-z-]*/sec|Hz)", unit)
    if not match or not re.match("[0-9]", rate):
        return None
    places = len(re.split("[.,]", rate)[-1]) if re.search("[.,]", rate) else -1
    step = 10.0**-places if places >= 0 else 2.0
    prefix = PREFIX.get(match[1], 1)
    seconds = clocks[0].value
    # In the text the task clock itself is rounded to 10 µs; elsewhere its counter's nanoseconds stand beside it.
    loose = 1e-5 * float(rate.replace(",", ".")) * prefix if output.format == "text" else 0
    slack = step * prefix * seconds + loose
    return (slack + 0.01) * (1e-9 if old.metric in CLOCKS else 1) * 1.02


def _percent(old: Columns, output: Output) -> float:
    if output.format == "text":
        return 0.0 if any("%)" in part for part in old.rest) else 100.0
    return float(old.rest[1].replace(",", "."))


Mutation = Callable[[str, random.Random], str]


def flip(text: str, rng: random.Random) -> str:
    """Change one character."""
    at = rng.randrange(len(text))
    return text[:at] + _character(rng) + text[at + 1 :]


def insert(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + _character(rng) + text[at:]


def delete(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text))
    return text[:at] + text[at + 1 :]


def cut_off(text: str, rng: random.Random) -> str:
    return text[: rng.randrange(len(text))]


def cut_span(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text))
    return text[:start] + text[start + rng.randrange(1, 30) :]


def delete_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def repeat_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    return "\n".join([*lines[: at + 1], *lines[at:]])


def repeat_line_changed(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    return "\n".join([*lines[: at + 1], flip(lines[at] or " ", rng), *lines[at + 1 :]])


def swap_lines(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    return "\n".join(lines)


def cut_line(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
    return "\n".join(lines)


def _field(change: Callable[[list[str], int, random.Random], None]) -> Mutation:
    """Make a mutation of the fields of one line, cut wherever perf may cut."""

    def mutate(text: str, rng: random.Random) -> str:
        lines = text.split("\n")
        at = rng.randrange(len(lines))
        parts = re.split(r"([;,#]| {2,}|\" : |, \")", lines[at])
        if len(parts) > 2:
            change(parts, rng.randrange(0, len(parts), 2), rng)
        lines[at] = "".join(parts)
        return "\n".join(lines)

    return mutate


def _empty(parts: list[str], at: int, rng: random.Random) -> None:
    parts[at] = ""


def _remove(parts: list[str], at: int, rng: random.Random) -> None:
    del parts[at : at + 2]


def _exchange(parts: list[str], at: int, rng: random.Random) -> None:
    other = rng.randrange(0, len(parts), 2)
    parts[at], parts[other] = parts[other], parts[at]


def _replace(parts: list[str], at: int, rng: random.Random) -> None:
    parts[at] = rng.choice(("nan", "inf", "-1", "1e9", "18446744073709551616", "<not counted>", "0x10", "1.5", "", "٣"))


def _character(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return rng.choice("0123456789.,;:#%-+ '\"\n\t\u202f<>()")
    return chr(rng.choice((rng.randrange(32, 127), rng.randrange(0, 256), rng.randrange(0x2000, 0x2070))))


MUTATIONS: dict[str, Mutation] = {
    "change a character": flip,
    "insert a character": insert,
    "delete a character": delete,
    "cut off the end": cut_off,
    "cut out a span": cut_span,
    "delete a line": delete_line,
    "repeat a line": repeat_line,
    "repeat a line, changed": repeat_line_changed,
    "swap two lines": swap_lines,
    "cut a line short": cut_line,
    "empty a field": _field(_empty),
    "remove a field": _field(_remove),
    "swap two fields": _field(_exchange),
    "put nonsense into a field": _field(_replace),
}


def requested_of(output: Output) -> tuple[str, ...]:
    """Return the events that perf was told to count: those of -e in the comment, or all that it printed."""
    match = re.search(r" -e ([^ ]+) ", output.made_by)
    return tuple(match[1].split(",")) if match else ()


def readable(candidates: tuple[Output, ...]) -> Iterator[Output]:
    """Yield the outputs that are one whole run."""
    for output in candidates:
        try:
            output.parse()
        except PerfOutputError:
            continue
        yield output


def describe(output: Output, damaged: str) -> str:
    """Show the damage for people."""
    diff = difflib.unified_diff(output.text.split("\n"), damaged.split("\n"), lineterm="", n=0)
    return json.dumps([line for line in diff if not line.startswith(("---", "+++", "@@"))], ensure_ascii=False)
