"""Computes the readings of a window of a server, and combines those of several windows into one sample."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from runner.contract.metrics import Kind, get_metric
from runner.contract.report import Reading, Status, Window
from runner.perf.program_failure import ExecutionFailure
from runner.servers.process_figures import ProcessFigures
from runner.work_reports.metric_formulas import derive_work_metrics
from runner.work_reports.work_done import WorkDone
from runner.work_reports.worst_reading import find_worst_reading

_TIME_DIGITS = 9
"""Times are rounded to nanoseconds, so that the same number of clock ticks is the same time in each window."""


def fill_idle_counts(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the readings with 0 for what perf did not count because the server did not run in the window at all.

    perf counts the software event ``task-clock`` whenever a program runs: unlike a hardware counter, it is always free.
    """
    if readings["task-clock"].status is not Status.NOT_COUNTED:
        return dict(readings)
    return {
        name: Reading(value=0) if reading.status is Status.NOT_COUNTED else reading
        for name, reading in readings.items()
    }


def subtract_figures(before: ProcessFigures, after: ProcessFigures) -> dict[str, Reading]:
    """Return the CPU time and the growth of the resident memory of the server during a window."""
    return {
        # The CPU time of a process can decrease by a tick when one of its threads ends.
        "user-time": Reading(value=max(0.0, round(after.user - before.user, _TIME_DIGITS))),
        "sys-time": Reading(value=max(0.0, round(after.system - before.system, _TIME_DIGITS))),
        "resident-growth": Reading(value=after.resident - before.resident),
    }


def derive_load_metrics(readings: Mapping[str, Reading], work: WorkDone) -> dict[str, Reading]:
    """Return the metrics of a window that depend on the work of its load: rates, and latencies.

    Raises
    ------
    ExecutionFailure
        A metric is out of the range of values that a report can contain.
    """
    try:
        latencies = {f"latency-{name}": Reading(value=seconds) for name, seconds in work.latencies.items()}
        return derive_work_metrics(readings, work) | latencies
    except (ValidationError, ArithmeticError):
        raise ExecutionFailure(
            f"[load] command reports {work.operations:g} operations in {work.seconds:g} s; a metric computed from its "
            "numbers is out of range"
        ) from None


def combine_windows(windows: Sequence[Window]) -> dict[str, Reading]:
    """Combine the readings of several windows.

    Counts, sizes and times are added up. The throughput is the number of all operations divided by the time of all
    loads. A latency or a ratio is the median over the windows. If a metric has no value in one window, it has none in
    the result; if it is an estimate in one window, it is an estimate in the result; if one window lacks it, so does the
    result. The faults per operation are added if the number of operations of each window is known.
    """
    first_window, *other_windows = windows
    combined_readings: dict[str, Reading] = {}
    for name, reading in first_window.readings.items():
        readings = [reading, *(window.readings[name] for window in other_windows if name in window.readings)]
        worst_reading = find_worst_reading(readings)
        if worst_reading.value is None:
            combined_readings[name] = worst_reading
        elif len(readings) == len(windows):
            values = [window_reading.value for window_reading in readings if window_reading.value is not None]
            combined_value = _combine_values(name, values, windows)
            combined_readings[name] = worst_reading.model_copy(update={"value": combined_value})
    operations = [window.operations for window in windows]
    faults = [combined_readings[name].value for name in ("minor-faults", "major-faults") if name in combined_readings]
    if None not in operations and faults and None not in faults:
        combined_readings["faults-per-operation"] = Reading(value=sum(map(float, faults)) / sum(operations))  # type: ignore[arg-type]
    return combined_readings


def _combine_values(metric: str, values: Sequence[int | float], windows: Sequence[Window]) -> int | float:
    """Return the mean rate of a throughput, the median of a ratio or a latency, and the sum of other metrics."""
    if metric == "throughput":
        # If a load reports only its rate, each window counts as much as the others.
        operations = [window.operations or 1 for window in windows]
        return sum(operations) / sum(count / value for count, value in zip(operations, values, strict=True))
    if get_metric(metric).kind is Kind.RATIO or metric.startswith("latency-"):
        return sorted(values)[len(values) // 2]  # Of an even number of values, the upper median.
    return round(sum(values), _TIME_DIGITS)
