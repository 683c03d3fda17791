"""Reads the JSON output of pytest-benchmark (``--benchmark-json``, ``--benchmark-autosave``)."""

from typing import Any

from pydantic import Field, FiniteFloat

from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import parse_time
from runner.importing.source import Part, Source, check_document

FORMAT_NAME = "pytest-benchmark"
_SETTINGS = ("machine", "python_version", "python_implementation", "python_compiler", "system", "release")


class _Stats(Part):
    median: FiniteFloat
    data: list[FiniteFloat] | None = None


class _Benchmark(Part):
    name: str
    fullname: str = ""
    param: str | None = None
    stats: _Stats


class _Commit(Part):
    id: str | None = None
    dirty: bool | None = None
    project: str | None = None


class _File(Part):
    machine_info: dict[str, Any] = Field(default_factory=dict)
    commit_info: _Commit = _Commit()
    benchmarks: list[_Benchmark] = Field(max_length=100_000)
    datetime: str | None = None


def recognises(source: Source) -> bool:
    """Return whether this is a pytest-benchmark file."""
    return source.has_keys("machine_info", "commit_info", "benchmarks")


def parse(source: Source) -> list[Result]:
    """Return the times per call of each benchmark: one for each round, or the median if the file has no rounds.

    Raises
    ------
    FaultwatchError
        The file is damaged.
    """
    file = check_document(_File, source.json, source.name, "a pytest-benchmark file")
    commit = file.commit_info
    revision = "" if commit.id in {None, "unversioned", "unknown"} else str(commit.id)
    time = parse_time(file.datetime, f"{source.name}: datetime") if file.datetime else None
    return [
        Result(
            case=make_case(
                benchmark.name.partition("[")[0],
                {"param": benchmark.param} if benchmark.param else {},
                identity=(benchmark.fullname or benchmark.name).partition("[")[0],
            ),
            metric="time",
            unit="ns",
            better="lower",
            values=tuple(seconds * 1e9 for seconds in benchmark.stats.data or (benchmark.stats.median,)),
            # With uncommitted changes, the value is not that of the commit.
            revision=f"{revision}-dirty" if revision and commit.dirty else revision,
            time=time,
            host=str(file.machine_info.get("node", "")),
            subject=commit.project or "",
            settings=_read_settings(file.machine_info),
        )
        for benchmark in file.benchmarks
    ]


def _read_settings(machine: dict[str, Any]) -> dict[str, str]:
    """Return the settings of the machine that pytest-benchmark has recorded."""
    cpu = machine.get("cpu")
    brand = {"cpu": str(cpu["brand_raw"])} if isinstance(cpu, dict) and "brand_raw" in cpu else {}
    settings = {key: str(machine[key]) for key in _SETTINGS if key in machine} | brand
    return {f"pytest-benchmark.{key}": value for key, value in settings.items()}
