"""A control group of measured processes (version 2 or 1), which limits and counts their memory, and their number."""

import mmap
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

from runner.process_state.rcu_grace_period import expedite_grace_periods
from runner.system.processes import is_alive, read_own_name
from runner.system.tree import Tree

_PREFIX = "faultwatch-"
_GROUP_NAME = re.compile(rf"{_PREFIX}(\d+-\d+-[0-9a-f]{{8}})-\d+")
"""The name of a runner's group, which contains the name of its process. Other groups with the prefix are not ours."""
_MOUNT = "sys/fs/cgroup"
_KILL_TIMEOUT_SECONDS = 2.0
"""Seconds within which killed processes must leave the group."""
_POLL_SECONDS = 0.01
"""Seconds between two checks of whether they have left it."""


class MemoryGroup:
    """A new control group in the runner's own group, or in its nearest ancestor that allows this.

    The runner itself stays outside: at the limit, the kernel kills the largest process of the group, which must not be
    the runner. A process is moved into the group before it executes its command.

    Attributes
    ----------
    folder
        The folder of the group while it is applied, with files such as ``memory.stat``.
    """

    setting = "process.memory_limit"
    remedy = "memory limits require root, or a control group with a memory controller that is delegated to this user"

    def __init__(self, limit: int | None, tree: Tree | None = None) -> None:
        self._limit = None if limit is None else limit - limit % mmap.PAGESIZE  # The kernel limits whole pages.
        self._tree = tree or Tree()
        self.folder: Path | None = None
        self._pids_folder: Path | None = None

    @property
    def target(self) -> str:
        """The limit in bytes, rounded to whole pages as in the kernel, or ``none``."""
        return "none" if self._limit is None else str(self._limit)

    def add_process(self, pid: int, *, at_once: bool = True) -> None:
        """Move a process into the group, if there is one; its existing memory stays charged to its old group.

        Parameters
        ----------
        at_once
            Whether to expedite this (:mod:`runner.process_state.rcu_grace_period`). Must be False in a process that may
            be stopped meanwhile, such as one that builds ahead: grace periods would stay expedited until it continues.

        Raises
        ------
        OSError
            The kernel refuses.
        """
        folders = [folder for folder in (self.folder, self._pids_folder) if folder is not None]
        if folders:
            with expedite_grace_periods(self._tree) if at_once else nullcontext():
                for folder in folders:
                    (folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def read_value(self) -> str:
        """Return the group's limit in bytes, or ``none``."""
        if self.folder is None or self._limit is None:
            return "none"
        files = (self.folder / name for name in ("memory.max", "memory.limit_in_bytes"))
        return next((file.read_text(encoding="ascii").strip() for file in files if file.exists()), "none")

    def count_killed_processes(self) -> int:
        """Return how many processes of the applied group the kernel killed for lack of memory; 0 without a group."""
        if self.folder is None:
            return 0  # The host's number would include other processes.
        # The first file exists in version 2 of control groups, the second in version 1.
        return sum(_read_kills(self.folder / name) for name in ("memory.events", "memory.oom_control"))

    def apply(self) -> None:
        """Create the group and set its limit."""
        # Raised if no parent exists; otherwise the refusal of the last parent is raised.
        refusal: OSError = PermissionError("no control group with a memory controller was found")
        for parent, limit_file in self._prepare_parents("memory", "memory.limit_in_bytes", "memory.max"):
            try:
                folder = _make_group(parent)
            except OSError as error:
                refusal = error
                continue
            try:
                if self._limit is not None:
                    (folder / limit_file).write_text(self.target, encoding="ascii")
                elif not (folder / limit_file).exists():
                    raise FileNotFoundError(f"{folder} has no memory controller")
            except OSError as error:
                refusal = error
                _remove_group(folder)
                continue
            self.folder = folder
            return
        raise refusal

    def limit_processes(self, max_processes: int) -> bool:
        """Limit the number of processes and threads in the applied group; return whether that is possible."""
        if self.folder is None:
            return False
        with suppress(OSError):
            if (self.folder / "pids.max").exists():  # version 2: one group has all controllers
                (self.folder / "pids.max").write_text(str(max_processes), encoding="ascii")
                return True
        if not (self.folder / "memory.limit_in_bytes").exists():
            return False
        for parent, limit_file in self._prepare_parents("pids", "pids.max", None):
            with suppress(OSError):
                folder = _make_group(parent)
                try:
                    (folder / limit_file).write_text(str(max_processes), encoding="ascii")
                except OSError:
                    _remove_group(folder)
                    continue
                self._pids_folder = folder
                return True
        return False

    def remove_abandoned_groups(self) -> None:
        """Remove the groups of runners that were killed, with the processes in them."""
        # No limit is set here, so the names of the limit files are empty. In version 2, one group has all controllers.
        for controller, version_1_file, version_2_file in (("memory", "", ""), ("pids", "", None)):
            for parent, _ in self._prepare_parents(controller, version_1_file, version_2_file):
                _remove_abandoned_groups(parent)

    def undo(self) -> None:
        """Kill the remaining processes of the group, and remove it."""
        folders = (self.folder, self._pids_folder)
        self.folder = self._pids_folder = None
        for folder in folders:
            if folder is not None:
                self.kill_and_remove_group(folder)

    @staticmethod
    def kill_and_remove_group(folder: Path) -> None:
        """Kill the processes of a group, and remove it. If some do not end within 2 seconds, the group stays."""
        deadline = time.monotonic() + _KILL_TIMEOUT_SECONDS
        # Repeat this: processes can start others until they are killed, and leave the group only when they have ended.
        while pids := _list_members(folder):
            for pid in pids:
                with suppress(ProcessLookupError, PermissionError):  # A process of another user stays.
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                break
            time.sleep(_POLL_SECONDS)
        _remove_group(folder)

    def _prepare_parents(
        self, controller: str, version_1_file: str, version_2_file: str | None
    ) -> Iterator[tuple[Path, str]]:
        """Yield the groups in which a new group may be created, nearest first, each prepared for it.

        Each is yielded with the name of the file for its limit. ``version_1_file`` and ``version_2_file`` are the names
        of this file in the two versions of control groups; if ``version_2_file`` is None, groups of version 2 are left
        out.
        """
        paths: dict[str, str] = {}
        for line in self._tree.read_lines("proc/self/cgroup"):
            _, _, controllers_and_path = line.partition(":")
            controllers, _, path = controllers_and_path.partition(":")
            paths.update(dict.fromkeys(controllers.split(","), path))
        is_version_1 = controller in paths
        if is_version_1:
            mount, path, file = self._tree.path(f"{_MOUNT}/{controller}"), paths[controller], version_1_file
        elif version_2_file is None:
            return
        else:
            mount, path, file = self._tree.path(_MOUNT), paths.get("", "/"), version_2_file
        own_folder = mount / path.strip("/")
        for group in (own_folder, *own_folder.parents):
            if group.is_relative_to(mount) and group.is_dir():
                # In version 2, a group must first be told to pass its controllers on to its children.
                for controller_change in () if is_version_1 else ("+pids", "+memory"):
                    # This fails if the group itself contains processes; the next ancestor is tried then.
                    with suppress(OSError):
                        (group / "cgroup.subtree_control").write_text(controller_change, encoding="ascii")
                yield group, file


def _make_group(parent: Path) -> Path:
    """Create a control group for this process, after removing abandoned groups."""
    _remove_abandoned_groups(parent)
    folder = parent / f"{_PREFIX}{read_own_name()}-{time.monotonic_ns()}"
    folder.mkdir()
    return folder


def _read_kills(file: Path) -> int:
    """Return how many processes of a control group the kernel has killed because memory ran out."""
    with suppress(OSError):
        lines = file.read_text(encoding="ascii").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return 0


def _list_members(folder: Path) -> list[int]:
    """Return the processes of a control group."""
    try:
        # 0 stands for a process outside of this PID namespace, which cannot be killed from here.
        return [int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split() if pid != "0"]
    except OSError:
        return []


def _remove_abandoned_groups(parent: Path) -> None:
    """Remove the groups that killed runners left behind, with the processes in them."""
    for folder in parent.glob(f"{_PREFIX}*"):
        match = _GROUP_NAME.fullmatch(folder.name)
        if match and not is_alive(match[1]):
            MemoryGroup.kill_and_remove_group(folder)


def _remove_group(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
