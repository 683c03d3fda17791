"""What can be derived from one execution: shares, and what the program says about its work."""

import json
import math
from collections.abc import Mapping

from runner.contract.report import Reading, Sample, Status
from runner.perf.session import Execution, ExecutionFailure
from runner.workload import Workload


def sample_of(execution: Execution, workload: Workload) -> Sample:
    """Add what can be derived from one execution to what perf read."""
    readings = dict(execution.sample.readings)
    readings |= _sys_percent(readings)
    if workload.run.output == "json":
        operations, seconds = _work_done(execution.output)
        readings["throughput"] = Reading(value=operations / seconds)
        faults = [readings[name].value for name in ("minor-faults", "major-faults") if name in readings]
        counted = [value for value in faults if value is not None]
        if len(counted) == 2:
            readings["faults-per-operation"] = Reading(value=sum(counted) / operations)
    return Sample(readings=readings, perf_output=execution.sample.perf_output)


def _sys_percent(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    system = readings.get("sys-time")
    user = readings.get("user-time")
    if system is None or user is None:
        return {}
    if system.value is None and user.value is None:
        return {"sys-percent": Reading(status=Status.NOT_COUNTED, reason="neither user nor system time was counted")}
    # perf says "not counted" of a time that is zero; here the other one tells that the clock ran.
    total = (system.value or 0) + (user.value or 0)
    return {"sys-percent": Reading(value=100 * (system.value or 0) / total)} if total else {}


def _work_done(output: str) -> tuple[float, float]:
    """Return the operations and the seconds of the main loop that a program reports as its last line.

    Raises
    ------
    ExecutionFailure
        Where the last line is not a JSON object with both, as positive numbers.
    """
    lines = output.strip().splitlines()
    last = lines[-1] if lines else ""
    try:
        document = json.loads(last)
        operations, seconds = document["operations"], document["seconds"]
        good = all(_is_positive(value) for value in (operations, seconds))
    except (ValueError, TypeError, KeyError, RecursionError):
        good = False
    if not good:
        shown = repr(last[:120]) if last else "nothing"
        raise ExecutionFailure(
            f'the last line of standard output must be a JSON object with positive "operations" and "seconds", '
            f"but the program printed {shown}",
            output[-20_000:],
        )
    return operations, seconds


def _is_positive(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0
