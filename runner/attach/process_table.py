"""Reads the processes of this machine from ``/proc``."""

from collections.abc import Mapping

from msgspec import Struct

from runner.system.tree import Tree

_KERNEL_THREAD_PARENT = 2
"""The process id of kthreadd, which starts all other kernel threads."""
_PARENT_FIELD, _START_FIELD = 1, 19
"""Indices of fields of ``/proc/PID/stat``, counted after the name, because the name may contain spaces."""
_MAX_WORDS = 100
"""The largest number of words of a command line that are kept: the first ones name the program."""
_STARTER_FACTOR = 10
"""A process is only a starter if another process of its tree has used this many times its CPU time."""


class LiveProcess(Struct, frozen=True):
    """A snapshot of a process.

    Attributes
    ----------
    start_ticks
        When it started, in clock ticks since the boot.
    name
        Its name in the kernel, which is untrusted text, like ``words``.
    words
        The words of its command line; empty for a kernel thread.
    group
        The path of its control group within the hierarchy.
    """

    pid: int
    parent: int
    start_ticks: int
    name: str
    words: tuple[str, ...] = ()
    group: str = ""

    @property
    def is_of_kernel(self) -> bool:
        """Whether it is a kernel thread, which has no memory of its own."""
        return not self.words and _KERNEL_THREAD_PARENT in {self.pid, self.parent}

    @property
    def title(self) -> str:
        """Its command line; for a kernel thread, its name in brackets, as in ``ps``."""
        return " ".join(self.words) if self.words else f"[{self.name}]"


def read_process_table(tree: Tree) -> dict[int, LiveProcess]:
    """Return all processes that this user can see."""
    processes = (read_process(tree, int(name)) for name in tree.list_names("proc", "[1-9]*") if name.isdecimal())
    return {process.pid: process for process in processes if process is not None}


def read_process(tree: Tree, pid: int) -> LiveProcess | None:
    """Return one process; None if it has ended, or is hidden from this user."""
    text = tree.read_text(f"proc/{pid}/stat")
    if not text:
        return None
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    try:
        parent, start_ticks = int(fields[_PARENT_FIELD]), int(fields[_START_FIELD])
    except (IndexError, ValueError):
        return None
    words = (tree.read_text(f"proc/{pid}/cmdline", 100_000) or "").rstrip("\0").split("\0")[:_MAX_WORDS]
    name = head.partition("(")[2]
    return LiveProcess(pid, parent, start_ticks, name, tuple(words) if words != [""] else (), _read_group(tree, pid))


def find_descendants(table: Mapping[int, LiveProcess], root: int) -> tuple[int, ...]:
    """Return a process and all its descendants, parents first."""
    children: dict[int, list[int]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process.pid)
    descendants: dict[int, None] = {}
    queue = [root]
    while queue:
        pid = queue.pop(0)
        if pid not in descendants:
            descendants[pid] = None
            queue += sorted(children.get(pid, ()))
    return tuple(descendants)


def find_busiest(tree: Tree, processes: Mapping[int, LiveProcess], root: int) -> int:
    """Return the process with the most CPU time if the root seems to be only a starter (a shell); else the root."""
    ticks = {pid: _read_ticks(tree, pid) for pid in processes}
    busiest_pid = max(ticks, key=lambda pid: ticks[pid], default=root)
    return busiest_pid if ticks.get(busiest_pid, 0) > _STARTER_FACTOR * ticks.get(root, 0) else root


def _read_ticks(tree: Tree, pid: int) -> int:
    """Return the CPU time of a process without its children, in clock ticks."""
    # Index i after the name in brackets is field i + 3 of proc(5): 11 is utime, 12 is stime.
    fields = (tree.read_text(f"proc/{pid}/stat") or "").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12]) if len(fields) > 12 else 0


def _read_group(tree: Tree, pid: int) -> str:
    """Return the control group of a process: the unified one, else the memory controller's, else systemd's."""
    groups: dict[str, str] = {}
    for line in tree.read_lines(f"proc/{pid}/cgroup"):
        _, _, controllers_and_path = line.partition(":")
        controllers, _, path = controllers_and_path.partition(":")
        groups[controllers] = path
    memory_group = next((path for controllers, path in groups.items() if "memory" in controllers.split(",")), "")
    # The unified hierarchy lists no controllers.
    return groups.get("", "") or memory_group or groups.get("name=systemd", "")
