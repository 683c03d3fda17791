"""Reads the results of asv (airspeed velocity): ``.asv/results/MACHINE/COMMIT-ENVIRONMENT.json``, of version 2."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product, zip_longest
from typing import Any

from pydantic import Field, FiniteFloat, TypeAdapter

from runner.errors import FaultwatchError
from runner.importing.imported_result import Result, make_case
from runner.importing.source import MAX_MILLISECONDS, MAX_VALUE, Part, Source, check_document, parse_json
from runner.importing.units import NANOSECONDS

FORMAT_NAME = "asv"
_VERSION = 2
_UNITS = {"time": "seconds", "timeraw": "seconds", "mem": "bytes", "peakmem": "bytes"}
"""The unit of a benchmark by the first part of its name, if no ``benchmarks.json`` describes it."""
_MAX_SETTINGS = 50
"""The parameters of the machine that become settings."""
_MAX_QUOTED_CHARACTERS = 20


class _File(Part):
    version: int
    commit_hash: str
    date: float = Field(ge=0, lt=MAX_MILLISECONDS)
    """The time of the commit, in milliseconds since 1970."""
    env_name: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    result_columns: list[str] = Field(max_length=100)
    results: dict[str, list[Any]] = Field(max_length=100_000)


class _Benchmark(Part):
    """What asv stores about a benchmark, in ``benchmarks.json`` beside the folders of the machines."""

    param_names: list[str] = Field(default_factory=list)
    unit: str = ""


class _Columns(Part):
    """A benchmark's row in a file of results."""

    result: list[float | None] | None = None
    params: list[list[str]] = Field(default_factory=list)
    version: str | None = None
    started_at: float | None = Field(default=None, ge=0, lt=MAX_MILLISECONDS)
    samples: list[list[FiniteFloat] | None] | None = None


_NAMES = TypeAdapter(dict[str, Any])


def recognises(source: Source) -> bool:
    """Return whether this is an asv result file."""
    return source.has_keys("commit_hash", "results", "env_name")


def parse(source: Source) -> list[Result]:
    """Return the results of a file: of one commit on one machine in one environment, without failed benchmarks.

    Raises
    ------
    FaultwatchError
        The file is damaged, or of a version of asv before 0.5.
    """
    version = source.json.get("version", 1) if isinstance(source.json, dict) else _VERSION
    if version != _VERSION:
        raise FaultwatchError(
            f"{source.name} has version {str(version)[:_MAX_QUOTED_CHARACTERS]} of asv's result format; "
            f"only version {_VERSION} can be imported",
            "convert older results with `asv update`; for newer ones, update Faultwatch",
        )
    file = check_document(_File, source.json, source.name, "an asv file")
    document = parse_json(source.read_neighbour("../benchmarks.json") or "{}")
    descriptions = check_document(_NAMES, document, "benchmarks.json", "a description of asv's benchmarks")
    return [
        result
        for name, row in file.results.items()
        for result in _list_results(name, row, file, descriptions.get(name), source)
    ]


def _list_results(name: str, row: list[Any], file: _File, description: object, source: Source) -> Iterator[Result]:
    """Yield the results of one benchmark of asv: one for each point of its matrix that neither failed nor was skipped.

    Raises
    ------
    FaultwatchError
        The row or the description is damaged, or the number of results does not match the parameters.
    """
    location = f"{source.name}: {name:.100}"
    # asv leaves out the empty columns at the end of a row.
    columns = check_document(_Columns, dict(zip(file.result_columns, row, strict=False)), location, "an asv result")
    benchmark = check_document(_Benchmark, description or {}, location, "an asv benchmark")
    kind = name.rpartition(".")[2].partition("_")[0]  # such as "time" of "module.Suite.time_sort"
    unit = benchmark.unit or _UNITS.get(kind, "")
    factor = NANOSECONDS["s"] if unit == "seconds" else 1.0
    values = columns.result or []
    if _count_points(columns.params) != len(values):
        if columns.result is None:  # The benchmark failed at all points.
            return
        raise FaultwatchError(f"{location}: the number of results does not match the parameters")
    points = list(product(*columns.params))
    settings = {
        f"asv.{key}": str(value) for key, value in list(file.params.items())[:_MAX_SETTINGS] if key != "machine"
    }
    started_at = datetime.fromtimestamp((columns.started_at or file.date) / 1000, UTC)  # from milliseconds
    for value, point, samples in zip_longest(values, points, (columns.samples or ())[: len(points)]):
        if value is None or not abs(value) < MAX_VALUE:  # None means failed, and NaN means skipped.
            continue
        # The numbered names are for parameters without a name.
        names = [*benchmark.param_names, *(f"param{number}" for number in range(len(point)))]
        yield Result(
            case=make_case(
                name,
                dict(zip(names, map(_unquote, point), strict=False)),
                identity=f"{name} {columns.version or ''}",
            ),
            metric="time" if unit == "seconds" else kind,
            unit="ns" if unit == "seconds" else unit,
            better="lower",  # asv itself takes every increase for a regression
            values=tuple(sample * factor for sample in samples or (value,)),
            revision=file.commit_hash,
            time=started_at,
            host=str(file.params.get("machine", "")),
            settings={"asv.environment": file.env_name} | settings,
        )


def _count_points(params: list[list[str]]) -> int:
    """Return the number of points of a matrix without listing them: a small file can describe very many."""
    n_points = 1
    for values in params:
        n_points *= len(values)
    return n_points


def _unquote(value: str) -> str:
    """Return a parameter without the quotes of its ``repr``."""
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if is_quoted else value
