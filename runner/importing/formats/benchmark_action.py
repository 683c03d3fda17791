"""Reads the JSON of github-action-benchmark: its input with custom results, and the history that it writes."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pydantic import Field, FiniteFloat, TypeAdapter

from runner.contract.imported_metric import Better
from runner.errors import FaultwatchError
from runner.importing.direction import find_direction
from runner.importing.imported_result import Result, make_case
from runner.importing.source import MAX_MILLISECONDS, Part, Source, check_document, parse_json
from runner.importing.units import standardize_unit

FORMAT_NAME = "github-action-benchmark"
DIRECTION_BY_CUSTOM_FORMAT: Mapping[str, Better] = {"customSmallerIsBetter": "lower", "customBiggerIsBetter": "higher"}
"""The direction that is better for each format of custom results, by the action's name of the tool."""
_SCRIPT_PREFIX = "window.BENCHMARK_DATA"


class _Bench(Part):
    name: str
    value: FiniteFloat
    unit: str = ""


class _Commit(Part):
    id: str


class _Entry(Part):
    commit: _Commit
    date: float = Field(ge=0, lt=MAX_MILLISECONDS)
    """The time of the measurement, in milliseconds since 1970."""
    tool: str = ""
    benches: list[_Bench] = Field(max_length=100_000)


class _History(Part):
    repo_url: str = Field(alias="repoUrl", default="")
    entries: dict[str, list[_Entry]]


_CUSTOM_FILE = TypeAdapter(list[_Bench])


def recognises_history(source: Source) -> bool:
    """Return whether this is a ``data.js``, or its content as JSON."""
    return source.text.lstrip().startswith(_SCRIPT_PREFIX) or source.has_keys("lastUpdate", "entries")


def recognises_custom(source: Source) -> bool:
    """Return whether this is a list of custom results."""
    document = source.json
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and {"name", "unit", "value"} <= document[0].keys()
    )


def parse_custom(source: Source, better: Better | None) -> list[Result]:
    """Return the results of a file of custom results.

    Raises
    ------
    FaultwatchError
        The file is damaged, or the direction is not given: the file does not contain it.
    """
    if better is None:
        raise FaultwatchError(
            f"{source.name} does not say which direction is an improvement",
            f"pass --format {' or '.join(DIRECTION_BY_CUSTOM_FORMAT)}",
        )
    file = check_document(_CUSTOM_FILE, source.json, source.name, "a list of results with name, unit and value")
    return [
        Result(make_case(bench.name), metric="value", unit=bench.unit, better=better, values=(bench.value,))
        for bench in file
    ]


def parse_history(source: Source) -> list[Result]:
    """Return the results of all commits.

    Raises
    ------
    FaultwatchError
        The file is damaged.
    """
    text = source.text.strip()
    if text.startswith(_SCRIPT_PREFIX):  # window.BENCHMARK_DATA = {…};
        document = parse_json(text.removeprefix(_SCRIPT_PREFIX).lstrip().removeprefix("=").strip().removesuffix(";"))
    else:
        document = source.json
    file = check_document(_History, document, source.name, "a github-action-benchmark history")
    subject = file.repo_url.rstrip("/").rpartition("/")[2]
    return [
        _make_result(bench, suite, entry, subject)
        for suite, entries in file.entries.items()
        for entry in entries
        for bench in entry.benches
    ]


def _make_result(bench: _Bench, suite: str, entry: _Entry, subject: str) -> Result:
    """Return a benchmark of one entry as a result."""
    unit, factor = standardize_unit(bench.unit)
    return Result(
        case=make_case(bench.name, identity=f"{suite}/{bench.name}"),
        metric="value",
        unit=unit,
        # The action itself assumes that less is better, except for tools that it knows to write rates.
        better=DIRECTION_BY_CUSTOM_FORMAT.get(entry.tool) or find_direction(bench.unit) or "lower",
        values=(bench.value * factor,),
        revision=entry.commit.id,
        time=datetime.fromtimestamp(entry.date / 1000, UTC),  # from milliseconds
        subject=subject,
    )
