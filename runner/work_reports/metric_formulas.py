"""Derives metrics from the readings of an execution or a window, and from the work that it reports."""

from collections.abc import Mapping

from runner.contract.report import Reading, Status
from runner.work_reports.work_done import WorkDone


def derive_sys_percent(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the share of system time in the CPU time, if both times were measured."""
    system_time = readings.get("sys-time")
    user_time = readings.get("user-time")
    if system_time is None or user_time is None:
        return {}
    if system_time.value is None and user_time.value is None:
        return {"sys-percent": Reading(status=Status.NOT_COUNTED, reason="neither user nor system time was counted")}
    # perf reports a time of zero as not counted; that the other time was counted shows that the clock ran.
    system_seconds, user_seconds = system_time.value or 0, user_time.value or 0
    total_seconds = system_seconds + user_seconds
    return {"sys-percent": Reading(value=100 * system_seconds / total_seconds)} if total_seconds else {}


def derive_work_metrics(readings: Mapping[str, Reading], work: WorkDone) -> dict[str, Reading]:
    """Return the metrics that depend on the work done: rates, and the difference from the theoretical faults.

    Raises
    ------
    ValidationError, ArithmeticError
        A metric is out of the range of values that a report can contain.
    """
    derived_readings = {"throughput": Reading(value=work.operations / work.seconds)}
    if work.is_rate:
        return derived_readings
    faults = _sum_readings(readings, "minor-faults", "major-faults")
    if faults is not None:
        derived_readings["faults-per-operation"] = Reading(value=faults / work.operations)
    # The theoretical count is that of the main loop, so compare it with the region if there is one.
    region_faults = _sum_readings(readings, "region:minor-faults", "region:major-faults")
    loop_faults = faults if region_faults is None else region_faults
    if "bytes" in work.stated_counts and loop_faults:
        derived_readings["bytes-per-fault"] = Reading(value=work.stated_counts["bytes"] / loop_faults)
    if work.stated_counts.get("pages") and loop_faults is not None:
        derived_readings["refault-ratio"] = Reading(value=loop_faults / work.stated_counts["pages"])
    if "faults" in work.stated_counts:
        derived_readings["expected-faults"] = Reading(value=work.stated_counts["faults"])
        if loop_faults is not None:
            derived_readings["unexplained-faults"] = Reading(value=loop_faults - work.stated_counts["faults"])
    return derived_readings


def _sum_readings(readings: Mapping[str, Reading], *names: str) -> int | float | None:
    """Return the sum of the metrics; None if one of them was not counted."""
    values = [readings[name].value for name in names if name in readings]
    counted_values = [value for value in values if value is not None]
    return sum(counted_values) if len(counted_values) == len(names) else None
