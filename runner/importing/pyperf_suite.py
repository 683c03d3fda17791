"""pyperf suite files: our own, and those of any benchmark that pyperf ran."""

import io
import json
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from runner.contract.metrics import Kind, metric
from runner.contract.report import Case, Reading, Sample
from runner.errors import FaultwatchError
from runner.importing.imported_run import ImportDefaults, ImportedRun, parse_time, require

_KNOBS = ("aslr", "cpu_affinity", "cpu_model_name", "platform", "python_compiler", "python_implementation",
          "python_version")  # fmt: skip
"""What pyperf notes of the environment that stays the same from run to run."""


def read(text: str, name: str, defaults: ImportDefaults) -> list[ImportedRun]:
    """Read a suite: of ours its one run, of others one run a benchmark with one sample a worker process."""
    import pyperf  # noqa: PLC0415 - only where there is a suite

    try:
        suite = pyperf.BenchmarkSuite.load(io.StringIO(text))
    except (ValueError, KeyError, TypeError) as error:
        raise FaultwatchError(f"{name} is not a pyperf suite that this pyperf reads: {error}") from None
    benchmarks = suite.get_benchmarks()
    if "faultwatch_run" in benchmarks[0].get_metadata():
        return [_ours(benchmarks, name)]
    return [_theirs(benchmark, f"{name}: {benchmark.get_name()}", defaults) for benchmark in benchmarks]


def _ours(benchmarks: Iterable[Any], place: str) -> ImportedRun:
    """Put the metrics of a run together again. It keeps its id: where the run is stored, it is not stored twice."""
    readings: list[dict[str, Reading]] = []
    told: dict[str, Any] = {}
    for benchmark in benchmarks:
        told = benchmark.get_metadata()
        values = benchmark.get_values()
        readings = readings or [{} for _ in values]
        if len(values) != len(readings):
            raise FaultwatchError(f"{place}: the metrics have different numbers of samples")
        for sample, value in zip(readings, values, strict=True):
            sample[told["name"]] = Reading(value=_number(told["name"], value))
    try:
        case: str | Case = Case(
            workload=told["faultwatch_workload"],
            definition=told["faultwatch_definition"],
            parameters=json.loads(told["faultwatch_parameters"]),
        )
    except KeyError:
        case = str(told["faultwatch_case"])
    return ImportedRun(
        place=place,
        revision=told["faultwatch_revision"],
        case=case,
        started_at=parse_time(told["date"], place),
        samples=tuple(Sample(readings=sample) for sample in readings),
        knobs={"import.format": "pyperf", "import.environment": told["faultwatch_environment"]},
        subject=told["faultwatch_subject"],
        host=told["hostname"],
        run_id=uuid.UUID(told["faultwatch_run"]),
        seconds=told.get("duration", 0.0) * len(readings),
    )


def _number(name: str, value: float) -> int | float:
    return int(value) if metric(name).kind is Kind.COUNT and value == int(value) else value


def _theirs(benchmark: Any, place: str, defaults: ImportDefaults) -> ImportedRun:
    told = benchmark.get_metadata()
    if benchmark.get_unit() != "second":
        raise FaultwatchError(f"{place}: its values are in {benchmark.get_unit()}, and only times are understood")
    runs = [run for run in benchmark.get_runs() if run.values]
    start, end = _dates(benchmark, place, defaults)
    return ImportedRun(
        place=place,
        revision=require(defaults.revision or str(told.get("commit_id", "")), "revision", place),
        case=defaults.case or benchmark.get_name(),
        started_at=start,
        samples=tuple(Sample(readings=_readings(run)) for run in runs),
        knobs={"import.format": "pyperf"} | {f"pyperf.{key}": str(told[key]) for key in _KNOBS if key in told},
        host=str(told.get("hostname", "")),
        seconds=(end - start).total_seconds(),
    )


def _dates(benchmark: Any, place: str, defaults: ImportDefaults) -> tuple[datetime, datetime]:
    """Return when the first and the last worker ended, as pyperf notes it."""
    dates = [parse_time(str(date), place) for run in benchmark.get_runs() if (date := run.get_metadata().get("date"))]
    if defaults.started_at:
        return defaults.started_at, defaults.started_at + timedelta(seconds=benchmark.get_total_duration())
    if not dates:
        require("", "started-at", place)
    return min(dates), max(dates)


def _readings(run: Any) -> dict[str, Reading]:
    """Return what one worker process measured: the speed, and with our hook the faults, both for one iteration."""
    readings = {"throughput": Reading(value=len(run.values) / sum(run.values))}
    told = run.get_metadata()
    operations = run.get_total_loops() * int(told.get("faultwatch_values", 0))
    if operations:
        faults = told["faultwatch_minor_faults"] + told["faultwatch_major_faults"]
        readings["faults-per-operation"] = Reading(value=faults / operations)
        user, system = told["faultwatch_user_time"], told["faultwatch_sys_time"]
        if user + system:
            readings["sys-percent"] = Reading(value=100 * system / (user + system))
    return readings
