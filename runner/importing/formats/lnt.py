"""Reads the reports of LNT, LLVM's performance tracker, in both versions of their JSON."""

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from runner.contract.imported_metric import Better
from runner.errors import FaultwatchError
from runner.importing.imported_result import Result, make_case
from runner.importing.imported_run import parse_time
from runner.importing.source import MAX_VALUE, Part, Source, check_document

FORMAT_NAME = "lnt"
_SECONDS = frozenset({"compile_time", "execution_time", "link_time"})
_SHORT_NAMES = {"exec": "execution_time", "compile": "compile_time", "link": "link_time"}
_UNITS = {"mem_bytes": "bytes", "code_size": "bytes"} | dict.fromkeys(_SECONDS, "s")
_BETTER: dict[str, Better] = {"score": "higher"} | dict.fromkeys(_UNITS, "lower")  # type: ignore[assignment]
"""The better direction of the metrics in LNT's own schemas; for metrics of other schemas, it is unknown."""
_REVISIONS = ("llvm_project_revision", "run_order", "git_sha", "order")


class _Machine(Part):
    name: str = Field(alias="Name")


class _OldRun(Part):
    start: str = Field(alias="Start Time", default="")
    info: dict[str, Any] = Field(alias="Info", default_factory=dict)


class _OldTest(Part):
    name: str = Field(alias="Name")
    data: list[float] | None = Field(alias="Data", default=None)


class _OldReport(Part):
    machine: _Machine = Field(alias="Machine")
    run: _OldRun = Field(alias="Run")
    tests: list[_OldTest] = Field(alias="Tests", max_length=1_000_000)


class _Report(Part):
    machine: dict[str, Any]
    run: dict[str, Any]
    tests: list[dict[str, Any]] = Field(max_length=1_000_000)


def recognises(source: Source) -> bool:
    """Return whether this is an LNT report."""
    return source.has_keys("Machine", "Run", "Tests") or source.has_keys("machine", "run", "tests")


def parse(source: Source) -> list[Result]:
    """Return the results of a report. Hashes and states of tests are not measurements.

    Raises
    ------
    FaultwatchError
        The report is damaged, or contains no measurement, not even a failed one.
    """
    if source.has_keys("Machine"):
        report = check_document(_OldReport, source.json, source.name, "an LNT report")
        tests = [_read_old_test(test) for test in report.tests]
        return list(_list_results(source, report.machine.name, report.run.start, report.run.info, tests))
    new_report = check_document(_Report, source.json, source.name, "an LNT report")
    tests = [
        (str(test.get("name", "")), _SHORT_NAMES.get(metric, metric), _select_numbers(values))
        for test in new_report.tests
        for metric, values in test.items()
        if metric not in {"name", "info"}
    ]
    host, start = str(new_report.machine.get("name", "")), str(new_report.run.get("start_time", ""))
    return list(_list_results(source, host, start, new_report.run, tests))


def _read_old_test(test: _OldTest) -> tuple[str, str, tuple[float, ...]]:
    """Return the name of a test, its metric and its values; in the old version, the metric is the end of the name."""
    name, _, metric = test.name.rpartition(".")
    return name, _SHORT_NAMES.get(metric, metric), _select_numbers(test.data or [])


def _select_numbers(values: Any) -> tuple[float, ...]:
    """Return the numbers in a value or a list of values that a report may contain."""
    value_list = values if isinstance(values, list) else [values]
    numbers = (value for value in value_list if isinstance(value, int | float) and not isinstance(value, bool))
    return tuple(value for value in numbers if abs(value) < MAX_VALUE)


def _list_results(
    source: Source, host: str, start: str, info: dict[str, Any], tests: list[tuple[str, str, tuple[float, ...]]]
) -> Iterator[Result]:
    """Yield a result for each test and metric of one LNT run that has a value; raise if no test has a metric.

    Parameters
    ----------
    info
        What the report says about the run, such as its revision.
    tests
        The name, the metric and the values of each test; a test may occur several times.
    """
    time = parse_time(start, f"{source.name}: the start of the run") if start else None
    revision = next((str(info[key]).strip() for key in _REVISIONS if info.get(key)), "")
    columns: dict[tuple[str, str], list[float]] = {}
    for name, metric, values in tests:
        is_status = metric in {"hash", "status"} or metric.endswith(("_status", "_hash"))
        if name and metric and not is_status:
            columns.setdefault((name, metric), []).extend(values)
    for (name, metric), column in columns.items():
        if not column:  # The test failed.
            continue
        yield Result(
            case=make_case(name),
            metric=metric,
            unit=_UNITS.get(metric, ""),
            better=_BETTER.get(metric),
            values=tuple(column),
            revision=revision,
            time=time,
            host=host,
        )
    if not columns:
        raise FaultwatchError(f"{source.name}: this LNT report contains no test with a metric")
