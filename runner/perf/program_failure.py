"""Why an execution failed: the program's own problem, or a process that the kernel killed because memory ran out."""

import shlex
from collections.abc import Sequence

from runner.contract.report import Stage
from runner.execution.execute import ProgramResult
from runner.execution.temporary_failure import is_temporary
from runner.perf.ignored_preloads import describe_unloaded_preload
from runner.process_state.memory_group import MemoryGroup

MAX_OUTPUT_CHARACTERS = 20_000
"""The number of characters that are kept from the end of a program's output."""


class ExecutionFailure(Exception):
    """The program crashed, hung, ended with an error, or does not exist; or it cannot be counted.

    Attributes
    ----------
    temporary
        Whether the state of this host is the reason, so that another attempt can succeed.
    was_stopped
        Whether the program was killed because it exceeded its limit of time, memory or disk space.
    """

    def __init__(
        self,
        message: str,
        log: str = "",
        stage: Stage = Stage.RUN,
        *,
        temporary: bool = False,
        was_stopped: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.log = log
        self.stage = stage
        self.temporary = temporary
        self.was_stopped = was_stopped


def raise_on_failure(command: Sequence[str], problem: str, program_result: ProgramResult, group: MemoryGroup) -> None:
    """Raise if a program had a problem, or if the kernel killed a part of it; the failure contains its output.

    Raises
    ------
    ExecutionFailure
        The program had a problem, or the kernel killed a part of it.
    """
    problem = problem or describe_unloaded_preload(program_result.error)
    has_lost_process = not problem and group.count_killed_processes() > 0
    if has_lost_process:
        problem = "succeeded, although one of its processes was killed because memory ran out"
    if problem:
        # The kernel ends a program beyond its memory limit by SIGKILL, so the limit may explain such an end.
        was_killed = has_lost_process or "SIGKILL" in problem
        limit_text = (
            f" (memory limit {group.read_value()} bytes)" if was_killed and group.read_value() != "none" else ""
        )
        message = f"`{shlex.join(command)}` {problem}{limit_text}"
        was_stopped = bool(limit_text or program_result.explanation) or program_result.timed_out
        log = _format_log(program_result.output, program_result.error)
        # Without a limit of its own, a process was killed because the memory of the whole host ran out.
        lacked_host_memory = has_lost_process and not limit_text
        raise ExecutionFailure(
            message, log, temporary=lacked_host_memory or is_temporary(program_result), was_stopped=was_stopped
        )


def _format_log(output: str, error: str) -> str:
    parts = [("standard error", error), ("standard output", output)]
    return "\n".join(f"--- {title}\n{text[-MAX_OUTPUT_CHARACTERS:].rstrip()}" for title, text in parts if text.strip())
