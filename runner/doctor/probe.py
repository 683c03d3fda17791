"""The machine as the doctor sees it: files below a root, and the few things that must be tried out."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runner.canary.count import CanaryOutcome, count_canary
from runner.environment import compilers
from runner.execution.execute import execute
from runner.execution.own_command import SAFE_DIRECTORY
from runner.execution.start_block import BASE_VARIABLES
from runner.state.address_layout import Layout
from runner.state.attribute import can_apply
from runner.state.huge_pages import HugePages
from runner.system.tree import Tree

NOT_FOUND = 127
"""Exit status of a program that is not there, as shells have it."""
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class ProgramOutput:
    """Exit status of a program, and all that it printed."""

    status: int
    text: str


def run(command: Sequence[str]) -> ProgramOutput:
    """Run a program as measured programs are run: with the runner's own variables and search path."""
    folder = Path(SAFE_DIRECTORY)
    try:
        done = execute(command, directory=folder, environment=BASE_VARIABLES, timeout=_PATIENCE, merge=True)
    except FileNotFoundError:
        return ProgramOutput(NOT_FOUND, "")
    except PermissionError as error:
        return ProgramOutput(NOT_FOUND - 1, str(error))
    return ProgramOutput(-1 if done.status is None else done.status, done.output or done.trouble)


def free_bytes(folder: Path) -> int | None:
    """Return the free space where a folder is or would be made; ``None`` where nothing can be written there."""
    try:
        existing = next(place for place in (folder, *folder.parents) if place.exists())
    except PermissionError:
        return None
    return shutil.disk_usage(existing).free if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK) else None


@dataclass(frozen=True, slots=True)
class HostProbe:
    """What the checks ask. The defaults are this machine; a test replaces what it needs."""

    tree: Tree = field(default_factory=Tree)
    home: Path = Path("/")
    """Where builds and results are kept."""
    is_root: bool = field(default_factory=lambda: os.geteuid() == 0)
    run: Callable[[Sequence[str]], ProgramOutput] = run
    version: Callable[[str], str | None] = compilers.version
    can_fix_layout: Callable[[], bool] = lambda: can_apply(Layout())
    can_refuse_huge_pages: Callable[[], bool] = lambda: can_apply(HugePages("never"))
    free_bytes: Callable[[Path], int | None] = free_bytes
    count_canary: Callable[[Path], CanaryOutcome] = count_canary
