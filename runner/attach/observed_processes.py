"""Follows the observed processes: adds those that they start meanwhile, and leaves out those that have ended."""

import os
from collections.abc import Sequence
from pathlib import Path

from runner.attach.process_choice import ProcessChoice
from runner.attach.process_table import find_descendants, read_process_table
from runner.system.descendants import list_children
from runner.system.processes import get_start_ticks
from runner.system.tree import Tree

_CHILDREN_OF_INIT = Path("/proc/1/task/1/children")


class ObservedProcesses:
    """The chosen processes and those that they start, without those that have ended."""

    def __init__(self, choice: ProcessChoice, tree: Tree) -> None:
        """Note when each process was started, by which a later process with a reused pid is told apart."""
        self._tree = tree
        self._start_ticks = {pid: get_start_ticks(pid) for pid in choice.pids}
        self._start_ticks[choice.root.pid] = choice.root.start_ticks
        self._pids: Sequence[int] = choice.pids

    def refresh(self) -> None:
        """Add processes that were started meanwhile, and leave out those that have ended.

        A reused pid is recognised by the start time of its process. This process itself is never observed.
        """
        living_roots = [pid for pid in self._start_ticks if self._lives(pid)]
        living_tree = self._find_tree(living_roots)
        living_tree.pop(os.getpid(), None)
        # Read the start time of known processes again: one that ended may have left its id to another of the tree.
        new_ticks = {pid: get_start_ticks(pid) for pid in living_tree}
        self._start_ticks.update({pid: ticks for pid, ticks in new_ticks.items() if ticks is not None})
        self._pids = tuple(pid for pid in living_tree if pid in self._start_ticks)

    def _find_tree(self, roots: Sequence[int]) -> dict[int, None]:
        """Return processes with their descendants.

        If the kernel lists the children of each process (``CONFIG_PROC_CHILDREN``), only these processes are read: on a
        large host, reading all processes takes longer than everything else that happens in a second.
        """
        if not _CHILDREN_OF_INIT.exists():
            table = read_process_table(self._tree)
            return dict.fromkeys(pid for root in roots for pid in find_descendants(table, root))
        tree = dict.fromkeys(roots)
        queue = list(roots)
        while queue:
            new_children = list_children(queue.pop()) - tree.keys()
            tree.update(dict.fromkeys(sorted(new_children)))
            queue += new_children
        return tree

    def list_pids(self) -> Sequence[int]:
        """Return the processes as of the last refresh."""
        return self._pids

    def list_all_pids(self) -> Sequence[int]:
        """Return all processes so far, including those that have ended."""
        return list(self._start_ticks)

    def list_living_processes(self) -> Sequence[int]:
        """Return the processes that still live."""
        return [pid for pid in self._pids if self._lives(pid)]

    def have_ended(self) -> bool:
        """Return whether all processes have ended."""
        return not any(self._lives(pid) for pid in self._pids)

    def _lives(self, pid: int) -> bool:
        """Return whether a process still lives; false if another process has its id now."""
        ticks = get_start_ticks(pid)
        return ticks is not None and ticks == self._start_ticks.get(pid)
