"""Checks of kernel settings that change the fault counts of programs."""

import re
from collections.abc import Iterator

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, make_ok, make_unknown, make_warning
from runner.environment import cgroup
from runner.system.tree import Tree

_THP_FOLDER = "sys/kernel/mm/transparent_hugepage"
_MIB = 1 << 20
_MAX_PRESSURE_PERCENT = 1.0
"""The largest tolerated percentage of time in which at least one program waits for memory."""
_MIN_AVAILABLE_SHARE = 0.1
"""The share of the memory that must be available for the page cache to keep the files that were read."""
_DAMON_FOLDER = "sys/kernel/mm/damon/admin/kdamonds"


def check_huge_pages(host: HostProbe) -> CheckResult:
    """Check that programs get no huge pages unless they ask for them."""
    setting = host.tree.read_choice(f"{_THP_FOLDER}/enabled")
    if setting is None:
        return make_ok("this kernel has no transparent huge pages")
    policies = {
        folder.removeprefix("hugepages-"): host.tree.read_choice(f"{_THP_FOLDER}/{folder}/enabled")
        for folder in host.tree.list_names(_THP_FOLDER, "hugepages-*kB")
    } or {"all sizes": "inherit"}  # kernels before 6.8 have one size, and no folder for it
    # Each size that every program gets, and the file that says so.
    files = {
        size: f"hugepages-{size}/enabled" if policy == "always" else "enabled"
        for size, policy in policies.items()
        if policy == "always" or (policy == "inherit" and setting == "always")
    }
    if not files:
        return make_ok("no size is used unasked" if setting == "always" else setting)
    paths = " ".join(f"/{_THP_FOLDER}/{file}" for file in dict.fromkeys(files.values()))
    return make_warning(
        f"every program gets huge pages ({', '.join(files)}): counts depend on memory fragmentation",
        'set `huge_pages = "never"` in [run] of the workload file; or for the whole host: '
        f"echo madvise | sudo tee {paths}",
    )


def check_same_page_merging(host: HostProbe) -> CheckResult:
    """Check that KSM is off: a merged page is copied again when it is written."""
    setting = host.tree.read_text("sys/kernel/mm/ksm/run")
    if setting != "1":
        return make_ok("off")
    return make_warning(
        "on: a merged page faults again when it is written to", "echo 2 | sudo tee /sys/kernel/mm/ksm/run"
    )


def check_numa_balancing(host: HostProbe) -> CheckResult:
    """Check that NUMA balancing is off: it unmaps pages to find out which node uses them."""
    nodes = len(list(host.tree.list_names("sys/devices/system/node", "node[0-9]*")))
    if host.tree.read_text("proc/sys/kernel/numa_balancing") in {None, "0"}:
        return make_ok(f"off ({nodes} memory nodes)" if nodes > 1 else "off")
    return make_warning(
        "on: the kernel causes faults at unpredictable times to see which node uses a page",
        "sudo sysctl -w kernel.numa_balancing=0",
    )


def check_idle_memory(host: HostProbe) -> CheckResult:
    """Check that the kernel does not reclaim idle memory."""
    actions = _describe_damon_actions(host.tree)
    if actions in {None, "none"}:
        return make_ok("the kernel does not reclaim idle memory")
    return make_warning(
        f"the kernel's DAMON acts on idle memory ({actions}); pages that it reclaims or splits fault again when used",
        "echo off | sudo tee /sys/kernel/mm/damon/admin/kdamonds/*/state; "
        "echo N | sudo tee /sys/module/damon_*/parameters/enabled",
    )


def _describe_damon_actions(tree: Tree) -> str | None:
    """Return what DAMON does to idle memory, such as ``pageout`` or ``none``; None if this cannot be read.

    Only root can read it. It is therefore not a setting of the environment, which must be the same for every user.
    """
    actions = []
    for module, action in (("damon_reclaim", "pageout"), ("damon_lru_sort", "lru_sort")):
        enabled = tree.read_text(f"sys/module/{module}/parameters/enabled")
        if enabled is not None:
            actions.append(action if enabled == "Y" else "none")
    for daemon in _list_numbered_folders(tree, _DAMON_FOLDER):
        actions.append("none")
        if tree.read_text(f"{daemon}/state") == "on":
            contexts = _list_numbered_folders(tree, f"{daemon}/contexts")
            schemes = (scheme for context in contexts for scheme in _list_numbered_folders(tree, f"{context}/schemes"))
            actions += [tree.read_text(f"{scheme}/action") or "none" for scheme in schemes]
    if not actions:
        return None
    harmful_actions = sorted({*actions} - {"none", "stat"})  # "stat" only counts accesses.
    return ", ".join(harmful_actions) or "none"


def _list_numbered_folders(tree: Tree, folder: str) -> Iterator[str]:
    yield from (f"{folder}/{name}" for name in tree.list_names(folder, "[0-9]*"))


def check_memory(host: HostProbe) -> CheckResult:
    """Check that memory is available and nothing is swapped out."""
    sizes = {
        name: int(kib) * 1024
        for name, kib in re.findall(r"(?m)^(\w+):\s+(\d+) kB", host.tree.read_text("proc/meminfo") or "")
    }
    if "MemTotal" not in sizes or "MemAvailable" not in sizes:
        return make_unknown("this host does not report how much memory is free")
    swapped_bytes = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
    swapped_mib = max(1, swapped_bytes // _MIB)
    finding = f"{sizes['MemAvailable'] // _MIB:,} of {sizes['MemTotal'] // _MIB:,} MiB available"
    if _read_pressure(host) > _MAX_PRESSURE_PERCENT:
        return make_warning(
            f"programs are waiting for memory; {finding}", "stop the programs that use the memory, or measure later"
        )
    if sizes["MemAvailable"] < _MIN_AVAILABLE_SHARE * sizes["MemTotal"]:
        return make_warning(
            f"{finding}: the page cache may drop files that were just read", "stop the programs that use the memory"
        )
    if swapped_bytes > 0:
        return make_warning(
            f"{finding}; {swapped_mib:,} MiB are swapped out, so reading them again causes major faults",
            "sudo swapoff -a && sudo swapon -a",
        )
    return make_ok(f"{finding}; nothing is swapped out")


def _read_pressure(host: HostProbe) -> float:
    """Return the percentage of the last ten seconds in which at least one program waited for memory."""
    match = re.search(r"some avg10=([\d.]+)", host.tree.read_text("proc/pressure/memory") or "")
    return float(match[1]) if match else 0.0


def check_limits(host: HostProbe) -> CheckResult:
    """Check that no control group limits memory or CPU time."""
    settings = {
        name.removeprefix("cgroup."): value
        for name, value in cgroup.read_settings(host.tree).items()
        if name.endswith((".max", ".high"))
    }
    if not settings:
        return make_unknown("the limits of control groups cannot be read")
    limits = {name: value for name, value in settings.items() if value != "max"}
    if not limits:
        return make_ok("no control group limits memory or CPU time")
    effects = []
    if any(name.startswith("memory.") for name in limits):
        effects.append("at a memory limit, pages are dropped and fault again")
    if "cpu.max" in limits:
        effects.append("at the CPU limit, programs have to wait, so they take longer")
    limits_text = ", ".join(f"{name} {value}" for name, value in limits.items())
    return make_warning(
        f"a control group limits this process ({limits_text}): {'; '.join(effects)}",
        "remove the limit, or use a dedicated host; each run records the limits",
    )
