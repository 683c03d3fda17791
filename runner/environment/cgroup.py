"""The limits that the control groups around this process set on memory and processors."""

from collections.abc import Iterator
from pathlib import PurePosixPath

from runner.system.tree import SettingValues, Tree

_MOUNT = "sys/fs/cgroup"
_NO_LIMIT = 1 << 62
"""From this value on, a limit means «no limit», which version 1 shows as the largest number of whole pages."""


def read_settings(tree: Tree) -> SettingValues:
    """Return the effective limits: the tightest of this group and its parents.

    The group's name is left out, because each login and each container start creates a new one.
    """
    path_by_controller: dict[str, str] = {}
    for line in tree.read_lines("proc/self/cgroup"):
        _, _, controllers_and_path = line.partition(":")
        controllers, _, path = controllers_and_path.partition(":")
        path_by_controller.update(dict.fromkeys(controllers.split(","), path))
    if "memory" in path_by_controller:
        return _read_version_1(tree, path_by_controller)
    if "" in path_by_controller:
        return _read_version_2(tree, path_by_controller[""])
    return {}


def _read_version_2(tree: Tree, path: str) -> SettingValues:
    """Return the limits of a control group of version 2: the tightest of all levels."""
    levels = list(_list_levels(tree, _MOUNT, path))
    settings: SettingValues = {"cgroup.version": "2"}
    if levels:
        for name in ("memory.max", "memory.high", "memory.swap.max"):
            settings[f"cgroup.{name}"] = _find_tightest(tree.read_text(f"{level}/{name}") for level in levels)
        settings["cgroup.cpu.max"] = _find_tightest_share(tree.read_text(f"{level}/cpu.max") for level in levels)
    return settings


def _read_version_1(tree: Tree, path_by_controller: dict[str, str]) -> SettingValues:
    """Return the limits of control groups of version 1, one for each controller: the tightest of all levels."""
    settings: SettingValues = {"cgroup.version": "1"}
    memory = list(_list_levels(tree, f"{_MOUNT}/memory", path_by_controller["memory"]))
    if memory:
        settings["cgroup.memory.max"] = _find_tightest(
            tree.read_text(f"{level}/memory.limit_in_bytes") for level in memory
        )
    cpu = list(_list_levels(tree, f"{_MOUNT}/cpu", path_by_controller.get("cpu", "/")))
    if cpu:
        settings["cgroup.cpu.max"] = _find_tightest_share(
            f"{tree.read_text(f'{level}/cpu.cfs_quota_us')} {tree.read_text(f'{level}/cpu.cfs_period_us')}"
            for level in cpu
        )
    return settings


def _list_levels(tree: Tree, mount: str, path: str) -> Iterator[str]:
    """Yield the folders of the group and its parents; in a container only the mounted ones exist."""
    group = PurePosixPath(path)
    for level in (group, *group.parents):
        folder = f"{mount}/{str(level).strip('/')}".rstrip("/")
        if tree.path(folder).is_dir():
            yield folder


def _find_tightest(limits: Iterator[str | None]) -> str:
    """Return the lowest of some limits; ``max`` if there is none."""
    numbers = [int(limit) for limit in limits if limit and limit.isdecimal()]
    return str(min(numbers)) if numbers and min(numbers) < _NO_LIMIT else "max"


def _find_tightest_share(limits: Iterator[str | None]) -> str:
    """Return the smallest ``quota period`` in microseconds, as version 2 writes it, or ``max``."""
    fields_by_level = (limit.split() for limit in limits if limit)
    shares = [
        (int(fields[0]), int(fields[1]))
        for fields in fields_by_level
        if len(fields) == 2 and all(map(str.isdecimal, fields))
    ]
    if not shares:
        return "max"
    quota, period = min(shares, key=lambda share: share[0] / share[1])
    return f"{quota} {period}"
