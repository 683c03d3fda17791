"""The figures of what is recorded: the region of interest if the program opens one, otherwise the whole process.

Of several processes, only the first is recorded. :mod:`runner.perf.region` attaches the recorders when the region
opens.
"""

from collections.abc import Mapping

from runner.contract.profile import ProfileScope
from runner.contract.report import Reading, Sample
from runner.profile.perf_record_options import ExpectedCounts
from runner.workload import Workload


def get_scope(workload: Workload) -> ProfileScope:
    """Return what is recorded: the windows of a server, the region of interest, or the whole process."""
    if workload.server:
        return "windows"
    return "region" if workload.run.region else "process"


def compute_expected_counts(readings: Mapping[str, Reading]) -> ExpectedCounts:
    """Return the counts to expect of an execution, from the readings of an execution that was only counted."""
    return ExpectedCounts(
        faults=int(_get_value(readings, "page-faults") or 0),
        switches=int(_get_value(readings, "context-switches") or 0),
        cpu_seconds=_get_value(readings, "task-clock") or 0.0,
    )


def count_faults(sample: Sample) -> int:
    """Return the faults of an execution; with several processes, those of the first."""
    return compute_expected_counts(get_recorded_readings(sample)).faults


def get_recorded_readings(sample: Sample) -> Mapping[str, Reading]:
    """Return the readings of the process that is recorded: with several processes, those of the first."""
    return sample.processes[0] if sample.processes else sample.readings


def compute_operations(readings: Mapping[str, Reading]) -> float | None:
    """Return the number of operations, computed from faults and faults per operation; None if either is unknown."""
    faults_per_operation = _get_value(readings, "faults-per-operation")
    page_faults = readings.get("page-faults")
    if not faults_per_operation or page_faults is None or not page_faults.value:
        return None
    return float(page_faults.value / faults_per_operation)


def compute_overhead_percent(
    counted_readings: Mapping[str, Reading], recorded_readings: Mapping[str, Reading]
) -> float | None:
    """Return by how many percent recording increased the CPU time; None if it is unknown for either execution.

    CPU time is compared because the elapsed time would depend on the other work of the host.
    """
    counted_seconds = _get_value(counted_readings, "task-clock")
    recorded_seconds = _get_value(recorded_readings, "task-clock")
    if not counted_seconds or recorded_seconds is None:
        return None
    return 100 * (recorded_seconds - counted_seconds) / counted_seconds


def _get_value(readings: Mapping[str, Reading], name: str) -> float | None:
    """Return the value of a metric in the region, or else in the whole process; None if it was counted in neither."""
    for key in (f"region:{name}", name):
        reading = readings.get(key)
        if reading is not None and reading.value is not None:
            return reading.value
    return None
