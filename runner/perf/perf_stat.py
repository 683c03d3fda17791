"""Executes a command once under perf stat, in a fixed process state; returns the readings and the program's output.

perf counts one process and its children, from the ``exec`` on. The launcher (``launcher.c``) creates the process,
inside or outside of a sandbox, and the process waits until perf is attached from outside. Therefore the sandbox is not
counted, the program does not get the variables that perf sets for its own children, the memory of perf is not taken
for that of the program, and several programs can start together.
"""

import errno
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from runner.contract.report import Reading, Sample, Stage
from runner.errors import FaultwatchError
from runner.execution.execute import Program, ProgramResult, execute_together
from runner.execution.execution_log import log_command
from runner.execution.launcher import SimultaneousStart, resolve_program
from runner.execution.sandbox import MAX_TASKS, Sandbox
from runner.perf.attached_recorder import Recording
from runner.perf.counted_events import ATTACHED_EVENTS
from runner.perf.counted_program import OUT_OF_FILES_ERRORS, CountedProgram, CountingOrder, make_unsupported_readings
from runner.perf.event_support import split_known_events
from runner.perf.fault_count_check import explain_miscount
from runner.perf.lost_programs import combine_losses
from runner.perf.program_failure import ExecutionFailure, raise_on_failure
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.memory_stat import count_group_faults, read_memory_readings
from runner.process_state.process_state import ProcessState


class Execution(Struct, frozen=True):
    """The result of one process: a sample of raw readings, and its output."""

    sample: Sample
    output: str


class GroupExecution(Struct, frozen=True):
    """The results of processes that started together: one for each process, and the readings of their control group."""

    executions: tuple[Execution, ...]
    group_readings: dict[str, Reading]


def count_faults(
    command: Sequence[str],
    *,
    directory: Path,
    state: ProcessState,
    timeout: float,
    events: Sequence[str] = (),
    region: bool = False,
    sandbox: Sandbox | None = None,
) -> Execution:
    """Run a command once under perf stat; see :func:`count_processes`."""
    group_execution = count_processes(
        command, directory=directory, state=state, timeout=timeout, events=events, region=region, sandbox=sandbox
    )
    (execution,) = group_execution.executions
    readings = execution.sample.readings | group_execution.group_readings
    return Execution(execution.sample.model_copy(update={"readings": readings}), execution.output)


def count_processes(
    command: Sequence[str],
    *,
    directory: Path,
    state: ProcessState,
    timeout: float,
    events: Sequence[str] = (),
    region: bool = False,
    sandbox: Sandbox | None = None,
    n_processes: int = 1,
    recording: Recording | None = None,
    copies: Mapping[str, Path] = MappingProxyType({}),
) -> GroupExecution:
    """Run a command in several processes at the same time, each under its own perf stat.

    Parameters
    ----------
    directory
        The folder in which the program starts.
    state
        The state in which the processes start: their variables, their memory limit, and more.
    n_processes
        The number of processes.
    events
        Events to count in addition to the standard ones.
    timeout
        Seconds after which the processes are killed.
    region
        Whether to count the region that each program opens in addition to the whole program.
    sandbox
        How to confine each process, in a sandbox of its own; None for no sandbox.
    recording
        What to record of the first process.
    copies
        The copies to mount over files, by the path of the original.

    Raises
    ------
    ExecutionFailure
        If the program fails, or if perf has not counted all of it.
    FaultwatchError
        If perf or the sandbox is missing or forbidden, or perf's output cannot be parsed.
    """
    is_visible = partial(sandbox.is_visible_in_tree, directory) if sandbox else lambda _: True
    path, missing_reason = resolve_program(command[0], directory, state.environment["PATH"], is_visible)
    if missing_reason:
        raise ExecutionFailure(missing_reason)
    # Every perf since 5.10 knows the standard events, even if the machine cannot count them.
    supported_events, unknown_events = split_known_events(events)
    counted_events = (*ATTACHED_EVENTS, *supported_events)
    log_command(command, directory, f"{n_processes} at once" if n_processes > 1 else "")
    base_order = CountingOrder(
        command, path, directory, state.environment, counted_events, region, sandbox, copies=copies
    )
    with ExitStack() as stack:
        counted_programs: list[CountedProgram] = []

        def create_programs(group: MemoryGroup) -> Iterator[Program]:
            """Yield one counted program for each process; only the first is recorded."""
            # Create each one after the previous one has started, because they use the same descriptors for the region.
            start = SimultaneousStart(n_processes)
            order = replace(base_order, sandbox=_share_sandbox_limits(sandbox, n_processes, group))
            for number in range(n_processes):
                program_order = order if number else replace(order, recording=recording)
                counted_programs.append(CountedProgram(program_order, start, group, stack))
                yield counted_programs[-1].create_program()

        with state.apply() as group:
            launcher_results = _execute_programs(create_programs(group), directory, timeout, n_processes)
            for program, launcher_result in zip(counted_programs, launcher_results, strict=True):
                problem = program.conclude(launcher_result)
                raise_on_failure(command, problem, program.make_program_result(launcher_result), group)
            # The group's account must contain at least this many faults; otherwise the kernel has not updated it yet.
            min_faults = sum(program.launch.ending.faults for program in counted_programs if program.launch.ending)
            group_readings = read_memory_readings(group.folder, min_faults)
            kernel_faults = max(min_faults, count_group_faults(group.folder))
        executions = [
            _make_execution(program, launcher_result, unknown_events)
            for program, launcher_result in zip(counted_programs, launcher_results, strict=True)
        ]
        lost_programs = combine_losses([program.lost for program in counted_programs])
        if problem := explain_miscount(_sum_faults(executions), kernel_faults, lost_programs):
            raise ExecutionFailure(f"`{shlex.join(command)}` {problem}", stage=Stage.MEASURE)
    return GroupExecution(tuple(executions), group_readings)


def _execute_programs(
    programs: Iterator[Program], directory: Path, timeout: float, n_processes: int
) -> list[ProgramResult]:
    """Execute programs at the same time; raise an error that explains it if they need too many open files."""
    try:
        return execute_together(programs, directory=directory, timeout=timeout)
    except OSError as error:
        if error.errno not in OUT_OF_FILES_ERRORS:
            raise
        limit = "`fs.file-max`, the limit of the whole host" if error.errno == errno.ENFILE else "`ulimit -n`"
        fewer_processes = ", or reduce `processes` in [run]" if n_processes > 1 else ""
        raise FaultwatchError(
            f"{_describe_processes(n_processes)} more open files than this host allows",
            f"raise {limit}{fewer_processes}; each process needs twelve open files",
        ) from None


def _describe_processes(n_processes: int) -> str:
    """Return how many processes need something, as the beginning of a sentence."""
    return "the program needs" if n_processes == 1 else f"{n_processes} processes at once need"


def _share_sandbox_limits(sandbox: Sandbox | None, n_processes: int, group: MemoryGroup) -> Sandbox | None:
    """Limit the tasks of all sandboxes of a case together: by a control group, or else by equal shares.

    Return the sandbox that each process gets; None without a sandbox.
    """
    if sandbox is None or group.limit_processes(MAX_TASKS):
        return sandbox
    return replace(sandbox, sandbox_count=n_processes)


def _make_execution(
    program: CountedProgram, launcher_result: ProgramResult, unknown_events: Sequence[str]
) -> Execution:
    """Return the sample and the output of a program that succeeded. The launcher's streams contain the output."""
    readings, perf_output = program.stop_counting()
    sample = Sample(readings=readings | make_unsupported_readings(unknown_events), perf_output=perf_output)
    return Execution(sample, launcher_result.output)


def _sum_faults(executions: Sequence[Execution]) -> int | float:
    """Return the total number of faults that perf counted in processes that ran together."""
    readings = (
        execution.sample.readings[name] for execution in executions for name in ("minor-faults", "major-faults")
    )
    return sum(reading.value or 0 for reading in readings)
