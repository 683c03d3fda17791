"""Derives the share of system time from the CPU times of an execution."""

from collections.abc import Mapping

from runner.contract.report import Reading, Status


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
