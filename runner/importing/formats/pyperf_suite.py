"""Reads pyperf suite files: those that Faultwatch exported, and those of other benchmarks."""

import io
import json
import uuid
from collections.abc import Iterable
from typing import Any

from runner.contract.metrics import Kind, get_metric
from runner.contract.report import IMPORT_FORMAT, Case, Reading, Sample
from runner.errors import FaultwatchError
from runner.importing.imported_run import ImportDefaults, ImportedRun, parse_time
from runner.importing.provenance import locate_result
from runner.importing.source import Source

FORMAT_NAME = "pyperf"
_SETTINGS = ("aslr", "cpu_affinity", "cpu_model_name", "platform", "python_compiler", "python_implementation",
          "python_version")  # fmt: skip
"""The metadata of pyperf that become settings: they describe the environment, and stay the same between runs."""
_LOADING_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a damaged file can raise: pyperf checks little, so wrong types are often noticed only when a run is built."""


def recognises(source: Source) -> bool:
    """Return whether this is a pyperf suite, or claims to be one."""
    return source.has_keys("benchmarks")


def read(source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read a suite: as one run if Faultwatch wrote it, else as one run per benchmark with one sample per worker.

    Raises
    ------
    FaultwatchError
        The file is not a suite, or lacks data that a run needs.
    """
    try:
        return _read_runs(source, defaults)
    except _LOADING_ERRORS as error:
        problem = f"{type(error).__name__}: {error!s:.200}".splitlines()[0]
        raise FaultwatchError(
            f"{source.name} is not a pyperf suite that this version of pyperf can read: {problem}"
        ) from None


def _read_runs(source: Source, defaults: ImportDefaults) -> list[ImportedRun]:
    """Return the runs of a pyperf suite: one that Faultwatch exported, or one for each benchmark."""
    import pyperf  # noqa: PLC0415 - only needed for suites

    suite = pyperf.BenchmarkSuite.load(io.StringIO(source.text))
    benchmarks = suite.get_benchmarks()
    if "faultwatch_run" in benchmarks[0].get_metadata():
        return [_reassemble_run(benchmarks, source.name)]
    return [_read_foreign_run(benchmark, source, defaults) for benchmark in benchmarks]


def _reassemble_run(benchmarks: Iterable[Any], location: str) -> ImportedRun:
    """Return the run whose metrics are the benchmarks. It keeps its id, so that a stored run is not stored twice.

    Raises
    ------
    FaultwatchError
        The metrics have different numbers of samples.
    """
    readings: list[dict[str, Reading]] = []
    metadata: dict[str, Any] = {}
    for benchmark in benchmarks:
        metadata = benchmark.get_metadata()
        values = benchmark.get_values()
        readings = readings or [{} for _ in values]
        if len(values) != len(readings):
            raise FaultwatchError(f"{location}: the metrics have different numbers of samples")
        for sample, value in zip(readings, values, strict=True):
            sample[metadata["name"]] = Reading(value=_convert_count(metadata["name"], value))
    try:
        case: str | Case = Case(
            workload=metadata["faultwatch_workload"],
            definition=metadata["faultwatch_definition"],
            parameters=json.loads(metadata["faultwatch_parameters"]),
        )
    except KeyError:
        case = str(metadata["faultwatch_case"])
    return ImportedRun(
        location=location,
        revision=str(metadata["faultwatch_revision"]),
        case=case,
        started_at=parse_time(metadata["date"], location),
        samples=tuple(Sample(readings=sample) for sample in readings),
        settings={IMPORT_FORMAT: "pyperf", "import.environment": metadata["faultwatch_environment"]},
        subject=str(metadata["faultwatch_subject"]),
        host=str(metadata["hostname"]),
        run_id=uuid.UUID(metadata["faultwatch_run"]),
        seconds=metadata.get("duration", 0.0) * len(readings),
    )


def _convert_count(name: str, value: float) -> int | float:
    """Return a value of a metric; a count, which pyperf has stored as a float, becomes a whole number."""
    return int(value) if get_metric(name).kind is Kind.COUNT and value == int(value) else value


def _read_foreign_run(benchmark: Any, source: Source, defaults: ImportDefaults) -> ImportedRun:
    """Return a benchmark that Faultwatch did not measure as a run.

    It begins and ends when its first and its last worker ended, by the metadata of pyperf. Without these, it begins as
    :func:`locate_result` finds, and takes the total duration of the workers.

    Raises
    ------
    FaultwatchError
        Its values are not times, or its revision is unknown.
    """
    location = f"{source.name}: {benchmark.get_name():.100}"
    metadata = benchmark.get_metadata()
    if benchmark.get_unit() != "second":
        raise FaultwatchError(f"{location}: its values are in {benchmark.get_unit()}, but only times can be imported")
    runs = [run for run in benchmark.get_runs() if run.values]
    date_texts = [run.get_metadata().get("date") for run in benchmark.get_runs()]
    dates = [parse_time(str(text), location) for text in date_texts if text]
    commit = str(metadata.get("commit_id", ""))
    placement = locate_result(source, defaults, location, commit, min(dates, default=None))
    return ImportedRun(
        location=location,
        revision=placement.revision,
        case=benchmark.get_name(),
        started_at=placement.time,
        samples=tuple(Sample(readings=_compute_readings(run)) for run in runs),
        settings={IMPORT_FORMAT: "pyperf"}
        | {f"pyperf.{key}": str(metadata[key]) for key in _SETTINGS if key in metadata},
        host=str(metadata.get("hostname", "")),
        seconds=(max(dates) - min(dates)).total_seconds() if dates else benchmark.get_total_duration(),
        time_is_known=placement.time_is_known,
    )


def _compute_readings(run: Any) -> dict[str, Reading]:
    """Return the readings of a worker process: throughput, and with Faultwatch's hook the faults per iteration."""
    readings = {"throughput": Reading(value=len(run.values) / sum(run.values))}
    metadata = run.get_metadata()
    operations = run.get_total_loops() * int(metadata.get("faultwatch_values", 0))
    if operations:
        faults = metadata["faultwatch_minor_faults"] + metadata["faultwatch_major_faults"]
        readings["faults-per-operation"] = Reading(value=faults / operations)
        user, system = metadata["faultwatch_user_time"], metadata["faultwatch_sys_time"]
        if user + system:
            readings["sys-percent"] = Reading(value=100 * system / (user + system))
    return readings
