"""Reads the JSON output of Google Benchmark (``--benchmark_format=json``, ``--benchmark_out``)."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from pydantic import Field, FiniteFloat

from runner.contract.report import Case
from runner.importing.direction import find_direction
from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import parse_time
from runner.importing.source import MAX_VALUE, Part, Source, check_document
from runner.importing.units import NANOSECONDS

FORMAT_NAME = "google-benchmark"
_SETTINGS = ("library_version", "library_build_type", "cpu_scaling_enabled", "aslr_enabled", "num_cpus")
_REVISIONS = ("commit", "revision", "git_commit", "git_revision")
"""Keys by which ``--benchmark_context=KEY=VALUE`` usually passes the revision."""
_STANDARD_FIELDS = frozenset({
    "family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations",
    "real_time", "cpu_time", "cpu_coefficient", "real_coefficient", "rms",
})  # fmt: skip
"""The numeric fields of an entry that are not user-defined counters."""


class _Entry(Part):
    name: str
    run_name: str = ""
    run_type: str = "iteration"
    aggregate_name: str = ""
    repetition_index: int = 0
    real_time: FiniteFloat | None = None
    cpu_time: FiniteFloat | None = None
    time_unit: str = "ns"
    error_occurred: bool = False
    skipped: bool = False


class _File(Part):
    context: dict[str, Any]
    benchmarks: list[dict[str, Any]] = Field(max_length=100_000)


def recognises(source: Source) -> bool:
    """Return whether this is a Google Benchmark file."""
    return source.has_keys("context", "benchmarks")


def parse(source: Source) -> list[Result]:
    """Return the results, with the value of each repetition, or only the median or mean if the file has no others.

    Benchmarks that failed or were skipped are left out.

    Raises
    ------
    FaultwatchError
        The file is damaged.
    """
    file = check_document(_File, source.json, source.name, "a Google Benchmark file")
    entries = [
        (check_document(_Entry, raw_entry, source.name, "a Google Benchmark file"), raw_entry)
        for raw_entry in file.benchmarks
    ]
    groups: dict[
        str, list[tuple[_Entry, dict[str, Any]]]
    ] = {}  # By benchmark: its entries, checked and as in the file.
    for entry, raw_entry in entries:
        if not (entry.error_occurred or entry.skipped):
            groups.setdefault(entry.run_name or entry.name, []).append((entry, raw_entry))
    date = file.context.get("date")
    time = parse_time(str(date), f"{source.name}: context.date") if date else None
    origin = {
        "revision": next((str(file.context[key]) for key in _REVISIONS if file.context.get(key)), ""),
        "host": str(file.context.get("host_name", "")),
        "settings": {f"google-benchmark.{key}": str(file.context[key]) for key in _SETTINGS if key in file.context},
    }
    return [
        result for name, group in groups.items() for result in _list_results(name, _choose_runs(group), time, origin)
    ]


def _choose_runs(group: Iterable[tuple[_Entry, dict[str, Any]]]) -> list[tuple[_Entry, dict[str, Any]]]:
    """Return the entries of a benchmark's repetitions; if there are none, the entry of its median or its mean."""
    repetitions: list[tuple[_Entry, dict[str, Any]]] = []
    aggregates: dict[str, list[tuple[_Entry, dict[str, Any]]]] = {}
    for entry, raw_entry in group:
        if entry.run_type == "aggregate":
            aggregates.setdefault(entry.aggregate_name, []).append((entry, raw_entry))
        elif not entry.aggregate_name:
            repetitions.append((entry, raw_entry))
    return repetitions or aggregates.get("median") or aggregates.get("mean") or []


def _list_results(
    name: str, entries: list[tuple[_Entry, dict[str, Any]]], time: datetime | None, origin: dict[str, Any]
) -> Iterator[Result]:
    """Yield the times of one benchmark and its counters."""
    case = _parse_case(name)
    for metric in ("real_time", "cpu_time"):
        measured_entries = [entry for entry, _ in entries if getattr(entry, metric) is not None]
        if measured_entries:
            values = [getattr(entry, metric) * NANOSECONDS.get(entry.time_unit, 1.0) for entry in measured_entries]
            yield Result(case, metric, "ns", "lower", tuple(values), time=time, **origin)
    for counter in dict.fromkeys(key for _, raw_entry in entries for key in raw_entry if key not in _STANDARD_FIELDS):
        counts = [float(raw_entry[counter]) for _, raw_entry in entries if _is_number(raw_entry.get(counter))]
        if counts:
            unit = _get_counter_unit(counter)
            yield Result(case, counter, unit, find_direction(unit), tuple(counts), time=time, **origin)


def _parse_case(name: str) -> Case:
    """Return the case of ``BM_Fill/64/threads:2``: the benchmark, its arguments, and its options."""
    function, *further_parts = name.split("/")
    options = dict(part.split(":", 1) for part in further_parts if ":" in part and not part.startswith(":"))
    arguments = "/".join(part for part in further_parts if ":" not in part or part.startswith(":"))
    return make_case(function, ({"arguments": arguments} if arguments else {}) | options)


def _is_number(value: object) -> bool:
    """Return whether a counter has a value that a report may contain."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_VALUE


def _get_counter_unit(counter: str) -> str:
    """Return the unit of a counter, which is a rate only if its name says so."""
    counted_thing, per_second, _ = counter.partition("_per_second")
    return f"{counted_thing}/s" if per_second and counted_thing else ""
