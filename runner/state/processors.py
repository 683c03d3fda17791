"""On which processors a process runs."""

import os
import re

from runner.environment.tree import Tree
from runner.errors import FaultwatchError


class Affinity:
    """Some processors only: for instance those that the host keeps free of everything else."""

    knob = "process.cpus"
    remedy = "name processors that this process may use: `taskset -cp $$` lists them"

    def __init__(self, cpus: frozenset[int], tree: Tree | None = None) -> None:
        self._cpus = cpus
        self._tree = tree or Tree()
        self._before: set[int] = set()

    @property
    def wanted(self) -> str:
        """The processors as a list of ranges."""
        return _ranges(self._cpus)

    def show(self) -> str:
        """Return the processors that this thread may use, as a list of ranges."""
        status = self._tree.text("proc/thread-self/status") or ""
        found = re.search(r"^Cpus_allowed_list:\s+(\S+)", status, re.MULTILINE)
        return _ranges(parse_cpus(found[1])) if found else _ranges(os.sched_getaffinity(0))

    def apply(self) -> None:
        """Keep to them, if all of them can be had: fewer than asked for would be another measurement."""
        before = os.sched_getaffinity(0)
        if not self._cpus <= before:
            raise PermissionError(f"of the processors {self.wanted}, only {_ranges(before)} can be used")
        os.sched_setaffinity(0, self._cpus)
        self._before = before

    def undo(self) -> None:
        """Use all again."""
        os.sched_setaffinity(0, self._before)


def parse_cpus(text: str) -> frozenset[int]:
    """Read a list of processors such as ``0-3,8``.

    Raises
    ------
    FaultwatchError
        Where it is not one.
    """
    if not re.fullmatch(r"\d{1,5}(-\d{1,5})?(,\d{1,5}(-\d{1,5})?)*", text):
        raise FaultwatchError(f"{text!r} is no list of processors", "write it as 0-3,8")
    spans = (part.partition("-") for part in text.split(","))
    cpus = frozenset(cpu for first, _, last in spans for cpu in range(int(first), int(last or first) + 1))
    if not cpus:
        raise FaultwatchError(f"{text!r} names no processor", "write the smaller number first: 0-3")
    return cpus


def _ranges(cpus: frozenset[int] | set[int]) -> str:
    """Write processors as the kernel does, so that what it shows can be compared."""
    starts = sorted(cpu for cpu in cpus if cpu - 1 not in cpus)
    ends = sorted(cpu for cpu in cpus if cpu + 1 not in cpus)
    return ",".join(
        f"{first}" if first == last else f"{first}-{last}" for first, last in zip(starts, ends, strict=True)
    )
