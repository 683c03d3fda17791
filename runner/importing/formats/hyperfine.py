"""Reads the JSON output of hyperfine (``--export-json``)."""

from pydantic import Field, FiniteFloat

from runner.importing.imported_result import Result, make_case
from runner.importing.source import Part, Source, check_document

FORMAT_NAME = "hyperfine"


class _Command(Part):
    command: str
    times: list[FiniteFloat] | None = None
    median: FiniteFloat | None = None
    mean: FiniteFloat
    user: FiniteFloat | None = None
    system: FiniteFloat | None = None
    memory_usage_byte: list[int] | None = None


class _File(Part):
    results: list[_Command] = Field(max_length=100_000)


def recognises(source: Source) -> bool:
    """Return whether this is a hyperfine file."""
    results = source.json.get("results") if isinstance(source.json, dict) else None
    return isinstance(results, list) and bool(results) and isinstance(results[0], dict) and "command" in results[0]


def parse(source: Source) -> list[Result]:
    """Return the times of each command. The user and the system time are means over its executions.

    Raises
    ------
    FaultwatchError
        The file is damaged.
    """
    file = check_document(_File, source.json, source.name, "a hyperfine file")
    return [result for command in file.results for result in _list_results(command)]


def _list_results(command: _Command) -> list[Result]:
    """Return the elapsed times of a command and, if the file has them, its CPU times and memory."""
    program, _, arguments = " ".join(command.command.split()).partition(" ")
    case = make_case(program, {"arguments": arguments} if arguments else {})
    median = command.mean if command.median is None else command.median
    columns: dict[str, tuple[float, ...]] = {"elapsed": tuple(command.times or (median,))}
    for metric, value in (("user-time", command.user), ("sys-time", command.system)):
        if value is not None:
            columns[metric] = (value,)
    if command.memory_usage_byte:
        columns["max-rss"] = tuple(command.memory_usage_byte)
    return [
        Result(case, metric, unit="", better="lower", values=values, in_catalogue=True)
        for metric, values in columns.items()
    ]
