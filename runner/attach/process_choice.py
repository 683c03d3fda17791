"""Chooses the processes to observe from a process table: by id, name, control group, unit or container."""

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

from runner.attach.process_table import LiveProcess, find_descendants
from runner.errors import FaultwatchError

_MAX_LISTED_NAMES = 8
_MAX_TITLE_CHARACTERS = 60
_UNIT_SUFFIX = re.compile(r"\.(?:service|scope|slice)$")
_CONTAINER_ID = re.compile(r"[0-9a-f]{12,64}")
_MONITOR = "conmon-"
"""How the control group of a container's monitor is named before the id. Podman and CRI-O run it outside of the
container, as the parent of the container's first process."""
_NAMED_WORDS = 2
"""A process is found by the first words of its command line: by its program, or by the script that this executes."""


class ProcessChoice(Struct, frozen=True):
    """The processes to observe.

    Attributes
    ----------
    root
        The oldest process whose parent is not among them. It usually started the others.
    pids
        The ids of all processes, the root first.
    """

    root: LiveProcess
    pids: tuple[int, ...]


def choose_process_by_pid(table: Mapping[int, LiveProcess], pid: int) -> ProcessChoice:
    """Choose a process and its descendants.

    Raises
    ------
    FaultwatchError
        There is no such process, or it is a kernel thread.
    """
    process = table.get(pid)
    if process is None:
        raise FaultwatchError(
            f"there is no process {pid}",
            "`pgrep -a NAME` lists processes; for a thread, pass the id of its process",
        )
    if process.is_of_kernel:
        raise FaultwatchError(
            f"process {pid} is a kernel thread, [{process.name}], and kernel threads have no page faults",
            "pass the id of a program's process",
        )
    return ProcessChoice(process, find_descendants(table, pid))


def choose_processes_by_name(table: Mapping[int, LiveProcess], name: str, own_pid: int = 0) -> ProcessChoice:
    """Choose the processes with a name, together with their descendants; all must belong to one tree.

    Parameters
    ----------
    own_pid
        The id of this process: neither it nor its ancestors are chosen.

    Raises
    ------
    FaultwatchError
        No process has this name, or several separate processes have it.
    """
    excluded_pids = set(_list_ancestors(table, own_pid))
    matching_pids = {pid for pid, process in table.items() if pid not in excluded_pids and _has_name(process, name)}
    roots = [
        pid for pid in sorted(matching_pids) if matching_pids.isdisjoint(_list_ancestors(table, table[pid].parent))
    ]
    if not roots:
        raise FaultwatchError(
            f"no process is named {name!r}", "pass a name that `ps -e` lists, or the id of the process"
        )
    if len(roots) > 1:
        raise FaultwatchError(
            f"{len(roots)} separate processes are named {name!r}: {_list_processes(table[pid] for pid in roots)}",
            "pass the id of one of them",
        )
    return choose_process_by_pid(table, roots[0])


def choose_processes_by_group(table: Mapping[int, LiveProcess], path: str) -> ProcessChoice:
    """Choose all processes of a control group and of the groups below it.

    Parameters
    ----------
    path
        The group's path within the cgroup hierarchy, with or without the usual mount point in front.

    Raises
    ------
    FaultwatchError
        The group has no processes.
    """
    group = "/" + re.sub(r"^/sys/fs/cgroup(?:/(?:unified|memory|systemd)(?=/|$))?", "", path).strip("/")
    members = [pid for pid, process in table.items() if _is_within(process.group, group)]
    return _choose_members(table, members, f"the control group {path}")


def choose_processes_by_unit(table: Mapping[int, LiveProcess], unit: str) -> ProcessChoice:
    """Choose all processes of a systemd unit.

    Raises
    ------
    FaultwatchError
        No process belongs to such a unit, or the units of several users have this name.
    """
    name = unit if _UNIT_SUFFIX.search(unit) else f"{unit}.service"
    # The paths of the groups up to the name of the unit: processes may be in groups below the unit's.
    groups = {
        process.group[: f"{process.group}/".index(f"/{name}/") + len(name) + 1]
        for process in table.values()
        if f"/{name}/" in f"{process.group}/"
    }
    if len(groups) > 1:
        raise FaultwatchError(
            f"{len(groups)} units are named {name}: {', '.join(sorted(groups)[:_MAX_LISTED_NAMES])}",
            "pass the control group of one of them with --cgroup",
        )
    if not groups:
        raise FaultwatchError(
            f"no process belongs to the unit {name}", f"`systemctl status {name}` shows whether it is running"
        )
    return choose_processes_by_group(table, groups.pop())


def list_container_ids(table: Mapping[int, LiveProcess], prefix: str) -> list[str]:
    """Return the ids of the containers with processes that begin with a prefix, in order; none for an empty prefix."""
    ids = {
        identity
        for process in table.values()
        for identity in _CONTAINER_ID.findall(process.group)
        if prefix and identity.startswith(prefix) and _is_in_container(process, identity)
    }
    return sorted(ids)


def choose_processes_by_container_id(table: Mapping[int, LiveProcess], prefix: str) -> ProcessChoice | None:
    """Choose all processes of the container whose id begins with a prefix, without its monitor.

    None unless the prefix matches exactly one container.
    """
    ids = list_container_ids(table, prefix)
    if len(ids) != 1:
        return None
    identity = ids[0]
    return _choose_members(
        table, [pid for pid, process in table.items() if _is_in_container(process, identity)], prefix
    )


def _is_in_container(process: LiveProcess, identity: str) -> bool:
    """Return whether a process is in the container with an id, and not its monitor."""
    return identity in process.group and f"{_MONITOR}{identity}" not in process.group


def _choose_members(table: Mapping[int, LiveProcess], members: Iterable[int], description: str) -> ProcessChoice:
    """Choose the given processes except kernel threads. The root is the oldest process whose parent is not among them.

    Parameters
    ----------
    description
        What the processes belong to, as the error names it.

    Raises
    ------
    FaultwatchError
        There are no such processes.
    """
    processes = sorted(
        (table[pid] for pid in members if not table[pid].is_of_kernel),
        key=lambda process: (process.start_ticks, process.pid),
    )
    if not processes:
        raise FaultwatchError(f"{description} has no processes", "it may have ended; `systemd-cgls` shows the groups")
    pids = {process.pid for process in processes}
    root = next((process for process in processes if process.parent not in pids), processes[0])
    return ProcessChoice(root, (root.pid, *(process.pid for process in processes if process.pid != root.pid)))


def _list_ancestors(table: Mapping[int, LiveProcess], pid: int) -> list[int]:
    """Return a process and those of its ancestors that are in the table."""
    ancestors: dict[int, None] = {}
    while pid in table and pid not in ancestors:
        ancestors[pid] = None
        pid = table[pid].parent
    return list(ancestors)


def _has_name(process: LiveProcess, name: str) -> bool:
    """Return whether a process, its program or its script has a name.

    Servers may change the first word of their command line, as in ``nginx: master``.
    """
    # No process has an empty name, although an argument may be empty or end in a slash.
    if process.is_of_kernel or not name:
        return False
    first_word = process.words[0].split(": ")[0] if process.words else ""
    words = [first_word, *process.words[:_NAMED_WORDS]]
    return name == process.name or name in {word.rpartition("/")[2] for word in words}


def _is_within(group: str, ancestor: str) -> bool:
    return ancestor != "/" and f"{group}/".startswith(f"{ancestor}/")


def _list_processes(processes: Iterable[LiveProcess]) -> str:
    descriptions = [f"{process.pid} ({process.title[:_MAX_TITLE_CHARACTERS]})" for process in processes]
    remainder = f" and {len(descriptions) - _MAX_LISTED_NAMES} more" if len(descriptions) > _MAX_LISTED_NAMES else ""
    return ", ".join(descriptions[:_MAX_LISTED_NAMES]) + remainder
