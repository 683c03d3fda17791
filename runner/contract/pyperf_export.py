"""Exports a report as a standard pyperf suite: a benchmark for each metric, and a pyperf run for each sample.

``python -m pyperf stats``, ``hist`` and ``compare_to`` can read the suite. Metrics that pyperf refuses are left out of
it: those with a zero or a missing value in any sample, and those with a line break in their name. The report itself is
complete.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from runner.contract.metrics import get_metric
from runner.contract.report import Reading, Report, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyperf

_PYPERF_UNITS = {"s": "second", "bytes": "byte"}


def build_suite(report: Report) -> pyperf.BenchmarkSuite | None:
    """Return the samples of a report as a pyperf suite; None if pyperf can represent none of the metrics."""
    import pyperf  # noqa: PLC0415 - only for suites: the command must start fast

    benchmarks = []
    for name in report.metrics:
        readings = report.list_readings(name)
        if name != _remove_line_breaks(name) or not _has_positive_values(readings, len(report.samples)):
            continue  # pyperf cannot represent this metric
        unit = get_metric(name).unit
        metadata = {
            "name": name,
            "unit": _PYPERF_UNITS.get(unit, "integer"),
            # Without a duration, pyperf would interpret the values as seconds.
            "duration": (report.finished_at - report.started_at).total_seconds() / len(report.samples),
            "date": report.started_at.isoformat(),
            "hostname": report.host.name,
            "faultwatch_run": str(report.run_id),
            "faultwatch_subject": report.subject,
            "faultwatch_revision": report.revision.commit,
            "faultwatch_case": _remove_line_breaks(report.case.name),
            "faultwatch_workload": report.case.workload,
            "faultwatch_definition": report.case.definition,
            "faultwatch_parameters": json.dumps(report.case.parameters, sort_keys=True),
            "faultwatch_environment": report.environment.hash,
            "faultwatch_unit": unit,
        }
        if report.reused:
            metadata["faultwatch_reused_from"] = str(report.reused.run_id)
        benchmarks.append(
            pyperf.Benchmark(
                [pyperf.Run([reading.value], metadata=metadata, collect_metadata=False) for reading in readings]
            )
        )
    return pyperf.BenchmarkSuite(benchmarks) if benchmarks else None


def _has_positive_values(readings: Sequence[Reading], n_samples: int) -> bool:
    """Return whether every sample has a counted value above zero, as pyperf requires."""
    return len(readings) == n_samples and all(
        reading.status is Status.COUNTED and reading.value is not None and reading.value > 0 for reading in readings
    )


def _remove_line_breaks(text: str) -> str:
    """Return a text without line breaks, which parameters of a workload file can contain."""
    return " ".join(text.split()) or "-"
