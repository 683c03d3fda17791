"""Derives metrics from the readings of an execution or a window, and from what it reports of its work."""

from collections.abc import Mapping

from runner.contract.report import Reading, Status
from runner.work_reports.work_done import WorkDone


def derive_sys_percent(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the share of system time, if both times were measured."""
    system = readings.get("sys-time")
    user = readings.get("user-time")
    if system is None or user is None:
        return {}
    if system.value is None and user.value is None:
        return {"sys-percent": Reading(status=Status.NOT_COUNTED, reason="neither user nor system time was counted")}
    # perf reports a time of zero as "not counted"; the other time shows that the clock ran.
    total = (system.value or 0) + (user.value or 0)
    return {"sys-percent": Reading(value=100 * (system.value or 0) / total)} if total else {}


def derive_work_metrics(readings: Mapping[str, Reading], work: WorkDone) -> dict[str, Reading]:
    """Return the metrics that follow from the work done: rates, and the difference from the theoretical faults."""
    derived = {"throughput": Reading(value=work.operations / work.seconds)}
    if work.is_rate:
        return derived
    faults = _sum_readings(readings, "minor-faults", "major-faults")
    if faults is not None:
        derived["faults-per-operation"] = Reading(value=faults / work.operations)
    # The theoretical count is of the main loop: compare it with the region if there is one.
    loop = _sum_readings(readings, "region:minor-faults", "region:major-faults")
    in_loop = faults if loop is None else loop
    if "bytes" in work.stated and in_loop:
        derived["bytes-per-fault"] = Reading(value=work.stated["bytes"] / in_loop)
    if work.stated.get("pages") and in_loop is not None:
        derived["refault-ratio"] = Reading(value=in_loop / work.stated["pages"])
    if "faults" in work.stated:
        derived["expected-faults"] = Reading(value=work.stated["faults"])
        if in_loop is not None:
            derived["unexplained-faults"] = Reading(value=in_loop - work.stated["faults"])
    return derived


def _sum_readings(readings: Mapping[str, Reading], *names: str) -> int | float | None:
    values = [readings[name].value for name in names if name in readings]
    counted = [value for value in values if value is not None]
    return sum(counted) if len(counted) == len(names) else None
