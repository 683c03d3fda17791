"""Access to a host for the checks: files below a root, and trials of the few abilities that no file shows."""

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from runner.canary.count import CanaryOutcome, count_canary
from runner.environment import compilers
from runner.execution.execute import execute
from runner.execution.own_command import SAFE_DIRECTORY
from runner.execution.process_variables import BASE_VARIABLES
from runner.process_state.address_layout import Layout
from runner.process_state.huge_pages import HugePages
from runner.process_state.process_attribute import can_apply
from runner.system.tree import Tree

NOT_FOUND_STATUS = 127
"""Exit status for a missing program, as in shells."""
NOT_EXECUTABLE_STATUS = 126
"""Exit status for a file that this user may not execute, as in shells."""
_TIMED_OUT_STATUS = -1
"""Replaces the exit status of a program that was killed at the time limit."""
_TIMEOUT_SECONDS = 20.0
"""Seconds after which a program is killed."""


class ProgramOutput(Struct, frozen=True):
    """The exit status and the output of a program."""

    status: int
    text: str


def run_tool(command: Sequence[str]) -> ProgramOutput:
    """Run a program with the variables and the search path of measured programs."""
    folder = Path(SAFE_DIRECTORY)
    try:
        result = execute(
            command, directory=folder, environment=BASE_VARIABLES, timeout=_TIMEOUT_SECONDS, merge_streams=True
        )
    except FileNotFoundError:
        return ProgramOutput(NOT_FOUND_STATUS, "")
    except PermissionError as error:
        return ProgramOutput(NOT_EXECUTABLE_STATUS, str(error))
    status = _TIMED_OUT_STATUS if result.status is None else result.status
    return ProgramOutput(status, result.output or result.problem)


def get_free_bytes(folder: Path) -> int | None:
    """Return the free bytes for a folder, which need not exist yet; ``None`` if the user cannot write there."""
    try:
        existing_folder = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
    except PermissionError:
        return None
    if not existing_folder.is_dir() or not os.access(existing_folder, os.W_OK | os.X_OK):
        return None
    return shutil.disk_usage(existing_folder).free


class HostProbe(Struct, frozen=True):
    """Access to a host. The defaults examine this machine; tests replace what they need."""

    tree: Tree = field(default_factory=Tree)
    home: Path = Path("/")
    """The folder of builds and results."""
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    run: Callable[[Sequence[str]], ProgramOutput] = run_tool
    read_version: Callable[[str], str | None] = compilers.read_version
    can_fix_layout: Callable[[], bool] = lambda: can_apply(Layout())
    can_refuse_huge_pages: Callable[[], bool] = lambda: can_apply(HugePages("never"))
    free_bytes: Callable[[Path], int | None] = get_free_bytes
    count_canary: Callable[[Path], CanaryOutcome] = count_canary
