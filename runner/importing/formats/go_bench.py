"""Reads the text of ``go test -bench``: the Go benchmark data format, with configuration lines and ``Unit`` lines.

The format is that of golang.org/design/14313-benchmark-format; ``Unit`` lines are an addition of
golang.org/x/perf/benchfmt.
"""

import math
import re
from collections.abc import Iterator

from msgspec import Struct, field
from msgspec.structs import replace

from runner.contract.imported_metric import Better
from runner.contract.report import Case
from runner.errors import FaultwatchError
from runner.importing.direction import find_direction
from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import parse_time
from runner.importing.source import Source

FORMAT_NAME = "go"
_RESULT = re.compile(r"Benchmark(?P<name>\S+)\s+(?P<iterations>\d+)\s+(?P<values>\S+\s+\S.*)")
_CONFIG = re.compile(r"(?P<key>[a-z][^\sA-Z:]*):\s*(?P<value>.*)")
_MAX_QUOTED_CHARACTERS = 60
_SETTINGS = ("goos", "goarch", "cpu", "toolchain")
_TIMES = ("commit-time", "date", "upload-time")
_TITLES = {"ns/op": "time", "B/op": "allocated", "allocs/op": "allocations", "MB/s": "throughput"}


class _Configuration(Struct, dict=True):
    """The configuration for the following results, as set by the lines so far."""

    values: dict[str, str] = field(default_factory=dict)
    directions: dict[str, Better] = field(default_factory=dict)


def recognises(source: Source) -> bool:
    """Return whether any line is a result of a Go benchmark."""
    return any(_RESULT.fullmatch(line.rstrip()) for line in source.text.splitlines() if line.startswith("Benchmark"))


def parse(source: Source) -> list[Result]:
    """Return the results; lines of the same benchmark and configuration are repetitions (``-count``) of one result.

    Raises
    ------
    FaultwatchError
        A value is not a number, a value has no unit, or a time is not valid; the message names the line.
    """
    repetitions: dict[tuple[object, ...], list[Result]] = {}
    for result in _list_results(source):
        conditions = (result.revision, result.time, tuple(sorted(result.settings.items())))
        key = (result.case.name, result.case.definition, result.metric, result.unit, *conditions)
        repetitions.setdefault(key, []).append(result)
    return [
        replace(results[0], values=tuple(value for result in results for value in result.values))
        for results in repetitions.values()
    ]


def _list_results(source: Source) -> Iterator[Result]:
    """Yield the results in the output of ``go test -bench``, line by line."""
    configuration = _Configuration()
    for number, raw_line in enumerate(source.text.splitlines(), start=1):
        line, location = raw_line.rstrip(), f"{source.name}: line {number}"
        result_match, setting_match = _RESULT.fullmatch(line), _CONFIG.fullmatch(line)
        if result_match:
            yield from _parse_result_line(result_match, configuration, location)
        elif line.startswith("Unit "):
            unit, *settings = line.split()[1:]
            for setting in settings:
                if setting == "better=lower":
                    configuration.directions[unit] = "lower"
                elif setting == "better=higher":
                    configuration.directions[unit] = "higher"
        elif setting_match:
            configuration.values[setting_match["key"]] = setting_match["value"].strip()


def _parse_result_line(match: re.Match[str], configuration: _Configuration, location: str) -> Iterator[Result]:
    """Yield a result for each pair of value and unit in one line; raise if they are not pairs, or not numbers."""
    values_and_units = match["values"].split()
    if len(values_and_units) % 2:
        raise FaultwatchError(f"{location}: the values and units of a benchmark do not come in pairs")
    time_text = next((configuration.values[key] for key in _TIMES if configuration.values.get(key)), "")
    case = _parse_case(match["name"], configuration.values.get("pkg", ""))
    settings = {f"go.{key}": configuration.values[key] for key in _SETTINGS if configuration.values.get(key)}
    time = parse_time(time_text, location) if time_text else None
    for text, unit in zip(values_and_units[::2], values_and_units[1::2], strict=True):
        better = configuration.directions.get(unit) or find_direction(unit)
        if better is None and unit.endswith("/op"):
            better = "lower"
        value = _parse_number(text, location)
        revision = configuration.values.get("commit", "")
        yield Result(
            case=case,
            metric=_TITLES.get(unit, unit),
            unit=unit,
            better=better,
            values=(value,),
            revision=revision,
            time=time,
            settings=settings,
        )


def _parse_case(name: str, package: str) -> Case:
    """Return the case of ``Encode/json/size=10-8``: the benchmark with its parts, its parameters, its processors."""
    processors = ""
    if re.search(r"-\d+$", name):
        name, _, processors = name.rpartition("-")
    function, *further_parts = name.split("/")
    parameters = dict(part.split("=", 1) for part in further_parts if re.match(r"[^=]+=", part))
    parts = [part for part in further_parts if not re.match(r"[^=]+=", part)]
    if processors:
        parameters["gomaxprocs"] = processors
    prefix = [package.rpartition("/")[2]] if package else []
    identity = "/".join((package, function, *parts))
    return make_case(".".join((*prefix, "-".join((function, *parts)))), parameters, identity=identity)


def _parse_number(text: str, location: str) -> float:
    """Return the number in a text; raise if there is none."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FaultwatchError(f"{location}: {text[:_MAX_QUOTED_CHARACTERS]!r} is not a number")
    return value
