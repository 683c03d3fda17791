"""One execution of a command under perf stat, in a fixed process state: what was read, and what the program printed.

What is counted is one process, from its exec on, with all it starts. It is made by the launcher (``launch.c``), inside
of a sandbox or not, and waits; perf is attached to it from outside; then it goes. So a sandbox around it is not
counted, the variables that perf adds to what it starts itself are not in its environment, its memory is not mistaken
for perf's, and several programs begin together.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from runner.contract.report import Reading, Sample
from runner.execution.execute import Finished, Program, execute_together
from runner.execution.launch import Start, resolve
from runner.execution.sandbox import Sandbox
from runner.perf.command import ATTACHED_EVENTS
from runner.perf.counted import Counted, Order, unsupported
from runner.perf.event_support import known_events
from runner.perf.recording import Recording
from runner.process_state.memory_group import MemoryGroup
from runner.process_state.memory_stat import memory_readings
from runner.process_state.process_state import ProcessState


class ExecutionFailure(Exception):
    """The program did not do its work: crashed, hung, ended with an error or was not there."""

    def __init__(self, message: str, log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.log = log


@dataclass(frozen=True, slots=True)
class Execution:
    """What one process of an execution brought: a sample of raw readings, and its output."""

    sample: Sample
    output: str


@dataclass(frozen=True, slots=True)
class Burst:
    """What processes that started together brought: each one's own, and what their control group counted of all."""

    executions: tuple[Execution, ...]
    group: dict[str, Reading]


def count(
    command: Sequence[str],
    *,
    directory: Path,
    state: ProcessState,
    timeout: float,
    events: Sequence[str] = (),
    region: bool = False,
    sandbox: Sandbox | None = None,
) -> Execution:
    """Run a command once under perf stat; see :func:`count_together`."""
    burst = count_together(
        command, directory=directory, state=state, timeout=timeout, events=events, region=region, sandbox=sandbox
    )
    (alone,) = burst.executions
    readings = alone.sample.readings | burst.group
    return Execution(alone.sample.model_copy(update={"readings": readings}), alone.output)


def count_together(
    command: Sequence[str],
    *,
    directory: Path,
    state: ProcessState,
    timeout: float,
    events: Sequence[str] = (),
    region: bool = False,
    sandbox: Sandbox | None = None,
    processes: int = 1,
    recording: Recording | None = None,
    copies: Mapping[str, Path] = MappingProxyType({}),
) -> Burst:
    """Run a command in some processes at once, each under its own perf stat.

    Parameters
    ----------
    events
        To count besides the standing ones.
    timeout
        Seconds.
    region
        Also count the region that each program opens, beside the whole of it.
    sandbox
        Confine them, each in a sandbox of its own.
    recording
        What to record of the first of them meanwhile.
    copies
        What they find in place of files, by the files' paths.

    Raises
    ------
    ExecutionFailure
        Where the program is to blame.
    FaultwatchError
        Where perf or the sandbox is: it is missing, forbidden, or printed what cannot be understood.
    """
    path, missing = resolve(command[0], directory, state.environment["PATH"])
    if missing:
        raise ExecutionFailure(missing)
    # Every perf since 5.10 can name the standing ones, also where the machine cannot count them.
    known, unknown = known_events(events)
    counted_events = (*ATTACHED_EVENTS, *known)
    order = Order(command, path, directory, state.environment, counted_events, region, sandbox, copies=copies)
    with ExitStack() as stack:
        counted: list[Counted] = []

        def programs(group: MemoryGroup) -> Iterator[Program]:
            # Each is made when the one before it has started: they share the numbers of the region's descriptors.
            start = Start(processes)
            for number in range(processes):
                mine = order if number else replace(order, recording=recording)
                counted.append(Counted(mine, start, group, stack))
                yield counted[-1].program()

        with state.applied() as group:
            done = execute_together(programs(group), directory=directory, timeout=timeout)
            for one, finished in zip(counted, done, strict=True):
                _refuse(command, one.conclude(finished), finished, group)
            in_group = memory_readings(group.folder)
        executions = [_execution(one, finished, unknown) for one, finished in zip(counted, done, strict=True)]
    return Burst(tuple(executions), in_group)


def _execution(one: Counted, finished: Finished, unknown: Sequence[str]) -> Execution:
    readings, text = one.readings()
    return Execution(Sample(readings=readings | unsupported(unknown), perf_output=text), finished.output)


def _refuse(command: Sequence[str], trouble: str, finished: Finished, group: MemoryGroup) -> None:
    trouble = trouble or _unloaded(finished.error)
    if trouble:
        limited = f" (memory limit {group.show()} bytes)" if "SIGKILL" in trouble and group.show() != "none" else ""
        message = f"`{' '.join(command)}` {trouble}{limited}"
        raise ExecutionFailure(message, _log(finished.output, finished.error))


def _unloaded(error: str) -> str:
    """Find out whether the loader left out a library of LD_PRELOAD: it says so and goes on with another allocator."""
    ignored = re.search(r"ld\.so: object '([^']*)' from LD_PRELOAD cannot be preloaded", error)
    return f"ran without {ignored[1]!r} of LD_PRELOAD, which could not be loaded" if ignored else ""


def _log(output: str, error: str) -> str:
    parts = [("standard error", error), ("standard output", output)]
    return "\n".join(f"--- {title}\n{text[-20_000:].rstrip()}" for title, text in parts if text.strip())
