"""Reads the JSON output of JMH (``-rf json``)."""

from collections.abc import Iterator

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from runner.importing.direction import find_direction
from runner.importing.imported_result import Result, make_case
from runner.importing.source import MAX_VALUE, Part, Source, check_document
from runner.importing.units import standardize_unit

FORMAT_NAME = "jmh"
_SETTINGS = ("jmh_version", "jdk_version", "vm_name", "vm_version")

_EXTREMES = ("p0.00", "p0.95", "p0.999", "p0.9999", "p1.00")
"""Percentiles of the sampling mode that are left out: they vary much between runs, or hardly differ from others."""


class _CamelCase(Part):
    model_config = ConfigDict(alias_generator=to_camel)


class _Metric(_CamelCase):
    score: float | str
    """JMH writes NaN as text."""
    score_unit: str
    raw_data: list[list[float | str]] | None = None


class _Benchmark(_CamelCase):
    benchmark: str
    mode: str
    threads: int = 1
    params: dict[str, str] = Field(default_factory=dict)
    primary_metric: _Metric
    secondary_metrics: dict[str, _Metric] = Field(default_factory=dict)
    jmh_version: str = ""
    jdk_version: str = ""
    vm_name: str = ""
    vm_version: str = ""


_FILE = TypeAdapter(list[_Benchmark])


def recognises(source: Source) -> bool:
    """Return whether this is a JMH file."""
    document = source.json
    return (
        isinstance(document, list)
        and bool(document)
        and isinstance(document[0], dict)
        and ("primaryMetric" in document[0] and "benchmark" in document[0])
    )


def parse(source: Source) -> list[Result]:
    """Return the results, with the score of each iteration of each fork, in nanoseconds or per second.

    Raises
    ------
    FaultwatchError
        The file is damaged.
    """
    file = check_document(_FILE, source.json, source.name, "a JMH file")
    return [result for benchmark in file for result in _list_results(benchmark)]


def _list_results(benchmark: _Benchmark) -> Iterator[Result]:
    """Yield the primary result of a benchmark and the results of its profilers."""
    name = ".".join(benchmark.benchmark.rsplit(".", 2)[-2:])
    threads = {"threads": str(benchmark.threads)} if benchmark.threads != 1 else {}
    case = make_case(name, benchmark.params | threads, identity=benchmark.benchmark)
    settings = {f"jmh.{key}": getattr(benchmark, key) for key in _SETTINGS if getattr(benchmark, key)}
    metrics = {benchmark.mode: benchmark.primary_metric} | {
        f"{benchmark.mode} {name.lstrip('·')}": metric
        for name, metric in benchmark.secondary_metrics.items()
        if not name.lstrip("·").endswith(_EXTREMES)
    }
    for title, metric in metrics.items():
        # A profiler's rate, such as gc.alloc.rate in MB/sec, may be a cost: only for operations is higher better.
        better = find_direction(metric.score_unit)
        if better == "higher" and not metric.score_unit.startswith("ops/"):
            better = None
        unit, factor = standardize_unit(metric.score_unit)
        raw_values = [value for fork in metric.raw_data or () for value in fork] or [metric.score]
        numbers = [value for value in raw_values if isinstance(value, int | float) and abs(value) < MAX_VALUE]
        values = tuple(number * factor for number in numbers)
        if values:
            yield Result(case, title, unit, better, values, settings=settings)
