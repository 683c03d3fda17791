"""Finds the children and descendants of processes."""

import os
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from runner.system.tree import Tree


def list_descendants(roots: Sequence[int]) -> set[int]:
    """Return all live descendants of processes, without the processes themselves."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            parent = _read_parent(entry.name)
            if parent is not None:
                children[parent].append(int(entry.name))
    processes: set[int] = set()
    pending_parents = list(roots)
    while pending_parents:
        child_ids = children[pending_parents.pop()]
        processes.update(child_ids)
        pending_parents += child_ids
    return processes


def list_children(pid: int) -> set[int]:
    """Return the live children that all threads of a process have started."""
    tree = Tree()
    folder = f"proc/{pid}/task"
    # A process or a thread that has ended has no children.
    texts = (tree.read_text(f"{folder}/{thread}/children") or "" for thread in tree.list_folder(folder))
    return {int(child) for text in texts for child in text.split()}


def _read_parent(pid: str) -> int | None:
    """Return the parent of a process; None if it has ended."""
    with suppress(OSError, ValueError, IndexError), Path("/proc", pid, "stat").open("rb") as file:
        return int(file.read().rpartition(b")")[2].split()[1])
    return None
