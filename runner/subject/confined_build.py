"""Runs a build command in a sandbox."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from runner.dependencies.lookup_tracing import LookupTracer
from runner.errors import FaultwatchError
from runner.execution.execute import ProgramResult, execute
from runner.execution.launcher import Launch, SimultaneousStart, resolve_program
from runner.execution.launcher_compilation import get_launcher
from runner.execution.process_variables import BASE_VARIABLES
from runner.execution.resource_guard import ResourceGuard
from runner.execution.sandbox import MAX_TASKS, MAX_TREE_BYTES, Sandbox
from runner.process_state.memory_group import MemoryGroup


def execute_confined(
    command: Sequence[str],
    *,
    sandbox: Sandbox,
    tree: Path,
    environment: Mapping[str, str],
    timeout: float,
    tracer: LookupTracer | None = None,
    reveals_host: bool = False,
    read_clock: Callable[[], float] = time.monotonic,
) -> ProgramResult:
    """Run a command in the sandbox, in a tree that it owns; standard error is merged into its output.

    Parameters
    ----------
    tracer
        Traces the file lookups of the command; None if they are not needed.
    reveals_host
        Whether to find the program even if the sandbox does not show it, so that the failure tells the owner of the
        host that the program exists.
    read_clock
        Returns seconds, by which the time-out is measured.

    Raises
    ------
    FileNotFoundError, PermissionError
        The command does not exist, the sandbox does not show it, or it is not executable.
    FaultwatchError
        The sandbox cannot be created.
    """
    # Find the program, and make it the owner of the tree.
    is_visible = (lambda _: True) if reveals_host else partial(sandbox.is_visible_in_tree, tree)
    path, missing_reason = resolve_program(command[0], tree, environment["PATH"], is_visible)
    if missing_reason.endswith("is not executable"):
        raise PermissionError(missing_reason)
    if missing_reason:
        raise FileNotFoundError(missing_reason)
    sandbox.change_owner(tree)
    binary = get_launcher()
    group = MemoryGroup(sandbox.memory)

    def confine_process(pid: int) -> None:
        sandbox.seal(pid, binary)
        group.add_process(pid, at_once=False)

    # Execute it with limits on its processes, its memory and its tree.
    with ExitStack() as stack:
        with suppress(OSError):  # Without a control group, each process is limited separately.
            group.apply()
            stack.callback(group.undo)
            group.limit_processes(MAX_TASKS)
        guard = stack.enter_context(ResourceGuard(tree, MAX_TREE_BYTES))
        launch = stack.enter_context(Launch(SimultaneousStart(1), confine_process))
        filter_descriptor = stack.enter_context(sandbox.open_system_call_filter())
        words = [
            *sandbox.build_command_prefix(tree, binary, filter_descriptor),
            *launch.build_command_line(str(binary), path, command, environment, sandbox.confinement),
        ]
        result = execute(
            tracer.wrap_command(words) if tracer else words,
            directory=tree,
            environment=BASE_VARIABLES,
            timeout=timeout,
            merge_streams=True,
            companions=[launch, guard],
            inherited_descriptors=[filter_descriptor, *(tracer.inherited_descriptors if tracer else ())],
            read_clock=read_clock,
        )
        launch.finish()
    # Return why the command ended.
    if launch.program is None and result.status is not None:
        reason = launch.refusal or result.output.strip().rpartition("\n")[2]
        raise FaultwatchError(f"the sandbox cannot be created: {reason or result.problem}", "run `faultwatch doctor`")
    if guard.problem:
        return replace(result, explanation=guard.problem)
    if launch.refusal:
        return replace(result, explanation=f"could not be executed in the sandbox: {launch.refusal}")
    return result if launch.ending is None else replace(result, status=launch.ending.status)
