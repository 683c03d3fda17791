"""A control group that counts and limits the memory of measured processes, of version 2 or 1."""

import mmap
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from runner.process_state.grace_period import expedited
from runner.system.tree import Tree

_MOUNT = "sys/fs/cgroup"
_KILL_TIMEOUT = 2.0
"""Seconds within which killed processes must leave the group."""


class MemoryGroup:
    """A new group within the runner's own group, or within its nearest ancestor that may contain one.

    The runner itself stays outside: at the limit, the kernel kills the largest process of the group, which must not be
    the runner. A process is admitted before it executes its command.

    Attributes
    ----------
    folder
        The folder of the group while it is applied, with files such as ``memory.stat``.
    """

    knob = "process.memory_limit"
    remedy = "limits need root, or a control group that was delegated to this user with its memory controller"

    def __init__(self, limit: int | None, tree: Tree | None = None) -> None:
        self._limit = None if limit is None else limit - limit % mmap.PAGESIZE
        self._tree = tree or Tree()
        self.folder: Path | None = None

    @property
    def wanted(self) -> str:
        """The limit in bytes, rounded to whole pages as in the kernel, or ``none``."""
        return "none" if self._limit is None else str(self._limit)

    def admit(self, pid: int) -> None:
        """Move a process into the group, if there is one; its existing memory stays with its old group.

        Raises
        ------
        OSError
            The kernel refuses.
        """
        if self.folder is not None:
            with expedited(self._tree):
                (self.folder / "cgroup.procs").write_text(str(pid), encoding="ascii")

    def show(self) -> str:
        """Return the group's limit in bytes, or ``none``."""
        if self.folder is None or self._limit is None:
            return "none"
        files = (self.folder / name for name in ("memory.max", "memory.limit_in_bytes"))
        return next((file.read_text(encoding="ascii").strip() for file in files if file.exists()), "none")

    def apply(self) -> None:
        """Create the group and set its limit."""
        refusal: OSError = PermissionError("no control group with a memory controller was found")
        for parent, limit_file in self._parents():
            _sweep(parent)
            folder = parent / f"faultwatch-{os.getpid()}-{time.monotonic_ns()}"
            try:
                folder.mkdir()
            except OSError as error:
                refusal = error
                continue
            try:
                if self._limit is not None:
                    (folder / limit_file).write_text(self.wanted, encoding="ascii")
                elif not (folder / limit_file).exists():
                    raise FileNotFoundError(f"{folder} has no memory controller")
            except OSError as error:
                refusal = error
                _remove(folder)
                continue
            self.folder = folder
            return
        raise refusal

    def undo(self) -> None:
        """Kill the remaining processes of the group, and remove it."""
        folder, self.folder = self.folder, None
        if folder is None:
            return
        deadline = time.monotonic() + _KILL_TIMEOUT
        while pids := _members(folder):
            for pid in pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
        _remove(folder)

    def _parents(self) -> Iterator[tuple[Path, str]]:
        """Yield the groups that may contain a new one, nearest first, with the name of the limit file."""
        paths: dict[str, str] = {}
        for line in self._tree.lines("proc/self/cgroup"):
            _, controllers, path = (*line.split(":", 2), "", "")[:3]
            paths.update(dict.fromkeys(controllers.split(","), path))
        if "memory" in paths:
            mount, path, file = self._tree.path(f"{_MOUNT}/memory"), paths["memory"], "memory.limit_in_bytes"
        else:
            mount, path, file = self._tree.path(_MOUNT), paths.get("", "/"), "memory.max"
        own = mount / path.strip("/")
        for group in (own, *own.parents):
            if group.is_relative_to(mount) and group.is_dir():
                if file == "memory.max":
                    # Fails if the group itself contains processes: then the next ancestor is tried.
                    with suppress(OSError):
                        (group / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
                yield group, file


def _members(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text(encoding="ascii").split() if pid != "0"]
    except OSError:
        return []


def _sweep(parent: Path) -> None:
    """Remove the empty groups that killed runners left behind."""
    for folder in parent.glob("faultwatch-*-*"):
        owner = folder.name.split("-")[1]
        if owner.isdecimal() and not Path("/proc", owner).exists():
            _remove(folder)


def _remove(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
