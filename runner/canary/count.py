"""Counts the canary: a program whose faults are known in advance, counted in the same way as everything else.

If this count is wrong, none of this host's counts can be trusted.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from runner.canary.fault_cost import load_or_measure_cost
from runner.contract.canary import Canary, CanaryCount
from runner.execution.compilation import CompilationError, compile_program
from runner.perf.perf_stat import Execution, count_faults
from runner.perf.program_failure import ExecutionFailure
from runner.process_state.process_state import ProcessState

_SOURCE, _HEADER = (Path(__file__).with_name(name) for name in ("canary.c", "faultwatch_region.h"))
_ANONYMOUS = "anonymous"
FAULT_KINDS = (_ANONYMOUS, "file", "copy-on-write", "huge")
_TIMED_RUNS = 3
"""The number of executions, of which the quickest shows the cost of a fault."""
_N_RECOUNTS = 2
"""How often a wrong count is repeated."""
_TIMEOUT_SECONDS = 20.0
"""Seconds after which the canary is killed."""


class CanaryOutcome(Struct, frozen=True):
    """The counts of the canary, or why they are unknown."""

    canary: Canary | None = None
    problem: str = ""


class CanaryFaults(Struct, frozen=True):
    """The result of an execution: expected faults of each kind, counted faults, and the kinds that this host lacks."""

    expected: dict[str, int]
    n_counted: int
    omission_reasons: dict[str, str]


class CanaryNotCounted(Exception):
    """The canary could not be counted; the message says why."""


def count_canary(programs: Path) -> CanaryOutcome:
    """Count the canary; if that is impossible, the outcome says why.

    After a wrong count, the canary is counted twice more, and both counts must be right. This still detects a host that
    counts wrongly now and then, but a rare disturbance does not disqualify a good host unless it recurs.

    Parameters
    ----------
    programs
        The folder for the compiled program.
    """
    try:
        program = compile_program(_SOURCE, programs, headers=[_HEADER])
        canary = check_canary(lambda kinds: _count_faults(program, kinds))
        cost = load_or_measure_cost(program, lambda: _measure_fault_cost(program)) if canary.holds else None
        return CanaryOutcome(canary.model_copy(update={"seconds_per_fault": cost}))
    except (CompilationError, CanaryNotCounted, ExecutionFailure) as error:
        return CanaryOutcome(problem=f"Faultwatch cannot check whether this host counts correctly: {error}")


def check_canary(count_kinds: Callable[[Sequence[str]], CanaryFaults]) -> Canary:
    """Return the canary's count of all kinds together and, if it is wrong, the count of each kind separately."""
    first_faults = count_kinds(FAULT_KINDS)
    omission_reasons = first_faults.omission_reasons
    if omission_reasons:  # memory of a kind that this host lacks may have been touched nevertheless
        first_faults = count_kinds([kind for kind in FAULT_KINDS if kind not in omission_reasons])
    joint_count = _recount_canary_if_wrong(first_faults, count_kinds)
    single_counts = []
    if not joint_count.holds:
        single_counts = [_recount_canary_if_wrong(count_kinds([kind]), count_kinds) for kind in joint_count.kinds]
    return Canary(counts=(joint_count, *single_counts), left_out=omission_reasons)


def _recount_canary_if_wrong(
    first_faults: CanaryFaults, count_kinds: Callable[[Sequence[str]], CanaryFaults]
) -> CanaryCount:
    """Return the first count of the canary and, only if it is wrong, two further counts."""
    kinds, expected_count = tuple(first_faults.expected), sum(first_faults.expected.values())
    counts = [first_faults.n_counted]
    if first_faults.n_counted != expected_count:
        counts += [count_kinds(kinds).n_counted for _ in range(_N_RECOUNTS)]
    return CanaryCount(kinds=kinds, expected=expected_count, counted=tuple(counts))


def _measure_fault_cost(program: Path) -> float | None:
    """Return the CPU time of one first touch in seconds: the minimum of a few executions, to exclude disturbances.

    None if no execution counted faults and their time.
    """
    costs = []
    for _ in range(_TIMED_RUNS):
        readings = _execute_canary(program, [_ANONYMOUS]).sample.readings
        faults, seconds = (readings[f"region:{name}"].value for name in ("minor-faults", "task-clock"))
        if faults and seconds:
            costs.append(seconds / faults)
    return min(costs, default=None)


def _execute_canary(program: Path, kinds: Sequence[str]) -> Execution:
    command = [f"./{program.name}", *kinds]
    return count_faults(command, directory=program.parent, state=ProcessState(), timeout=_TIMEOUT_SECONDS, region=True)


def _count_faults(program: Path, kinds: Sequence[str]) -> CanaryFaults:
    """Execute the canary; return the faults that it should have of each kind, and the total that was counted.

    Raises
    ------
    CanaryNotCounted, ExecutionFailure
        This host cannot count the faults of a region, or the canary failed.
    """
    result = _execute_canary(program, kinds)
    reading = result.sample.readings["region:minor-faults"]
    if not isinstance(reading.value, int):
        raise CanaryNotCounted(f"this host cannot count the faults of a region of interest: {reading.reason}")
    expected_counts: dict[str, int] = {}
    omission_reasons: dict[str, str] = {}
    for line in result.output.splitlines():
        # "anonymous 1009", or "huge - no huge pages" for a kind that this host lacks.
        kind, faults, *reason = line.split(" ", 2)
        if faults == "-":
            omission_reasons[kind] = reason[0] if reason else ""
        else:
            expected_counts[kind] = int(faults)
    return CanaryFaults(expected_counts, reading.value, omission_reasons)
