"""Checks of what the kernel does with memory behind a program's back."""

import re
from collections.abc import Iterator

from runner.doctor.probe import HostProbe
from runner.doctor.result import CheckResult, ok, unknown, warning
from runner.environment import cgroup
from runner.system.tree import Tree

_THP = "sys/kernel/mm/transparent_hugepage"
_MIB = 1 << 20
_DAMON = "sys/kernel/mm/damon/admin/kdamonds"


def huge_pages(host: HostProbe) -> CheckResult:
    """No huge pages where nobody asked for them."""
    setting = host.tree.chosen(f"{_THP}/enabled")
    if setting is None:
        return ok("this kernel has no transparent huge pages")
    sizes = {folder: host.tree.chosen(f"{_THP}/{folder}/enabled") for folder in host.tree.names(_THP, "hugepages-*kB")}
    always = [
        folder.removeprefix("hugepages-")
        for folder, own in sizes.items()
        if own == "always" or (own == "inherit" and setting == "always")
    ]
    if not always and setting != "always":
        return ok(setting)
    return warning(
        f"given to every program ({', '.join(always) or 'all sizes'}): counts depend on how fragmented free memory is",
        'huge_pages = "never" under [run] of the workload; or for the whole host: '
        + (
            f"echo madvise | sudo tee /{_THP}/enabled"
            if setting == "always"
            else f"echo never to enabled below /{_THP}"
        ),
    )


def same_page_merging(host: HostProbe) -> CheckResult:
    """KSM does not make pages shared that must then be copied again."""
    setting = host.tree.text("sys/kernel/mm/ksm/run")
    if setting != "1":
        return ok("off")
    return warning("on: a merged page that is written to faults once more", "echo 2 | sudo tee /sys/kernel/mm/ksm/run")


def numa_balancing(host: HostProbe) -> CheckResult:
    """The kernel does not unmap pages to see who touches them."""
    nodes = len(list(host.tree.names("sys/devices/system/node", "node[0-9]*")))
    if host.tree.text("proc/sys/kernel/numa_balancing") in {None, "0"}:
        return ok(f"off ({nodes} memory nodes)" if nodes > 1 else "off")
    return warning(
        "on: the kernel provokes faults, at times of its own, to see which node uses a page",
        "sudo sysctl -w kernel.numa_balancing=0",
    )


def idle_memory(host: HostProbe) -> CheckResult:
    """The kernel does not take away memory because it looks idle."""
    actions = _damon_actions(host.tree)
    if actions in {None, "none"}:
        return ok("is left alone")
    return warning(
        f"DAMON applies to it: {actions}; pages that it takes away or splits fault once more when they are used",
        "echo off | sudo tee /sys/kernel/mm/damon/admin/kdamonds/*/state; "
        "echo N | sudo tee /sys/module/damon_*/parameters/enabled",
    )


def _damon_actions(tree: Tree) -> str | None:
    """Return what the kernel does by itself to memory that seems idle, as ``pageout``; None if it cannot be read.

    Only root can: so it is no knob of the environment, which is the same for everybody.
    """
    found = []
    for module, action in (("damon_reclaim", "pageout"), ("damon_lru_sort", "lru_sort")):
        enabled = tree.text(f"sys/module/{module}/parameters/enabled")
        found += [] if enabled is None else [action if enabled == "Y" else "none"]
    for daemon in _below(tree, _DAMON):
        found.append("none")
        if tree.text(f"{daemon}/state") == "on":
            contexts = _below(tree, f"{daemon}/contexts")
            schemes = (scheme for context in contexts for scheme in _below(tree, f"{context}/schemes"))
            found += [tree.text(f"{scheme}/action") or "none" for scheme in schemes]
    return " ".join(sorted({*found} - {"none", "stat"})) or "none" if found else None


def _below(tree: Tree, folder: str) -> Iterator[str]:
    yield from (f"{folder}/{name}" for name in tree.names(folder, "[0-9]*"))


def memory(host: HostProbe) -> CheckResult:
    """There is memory to spare, and nothing is swapped out."""
    sizes = {
        name: int(kib) * 1024
        for name, kib in re.findall(r"(?m)^(\w+):\s+(\d+) kB", host.tree.text("proc/meminfo") or "")
    }
    if "MemTotal" not in sizes or "MemAvailable" not in sizes:
        return unknown("this host does not say how much memory is free")
    swapped = sizes.get("SwapTotal", 0) - sizes.get("SwapFree", 0)
    shown = f"{sizes['MemAvailable'] // _MIB:,} of {sizes['MemTotal'] // _MIB:,} MiB available"
    if _pressure(host) > 1:
        return warning(f"programs wait for memory; {shown}", "end what needs it, or measure when it is done")
    if sizes["MemAvailable"] < sizes["MemTotal"] / 10:
        return warning(f"{shown}: the page cache may not hold what was read", "end what needs the memory")
    if swapped > 0:
        return warning(
            f"{shown}; {swapped // _MIB:,} MiB are swapped out and come back as major faults",
            "sudo swapoff -a && sudo swapon -a",
        )
    return ok(f"{shown}; nothing is swapped out")


def _pressure(host: HostProbe) -> float:
    """Return the percentage of the last ten seconds in which some program waited for memory."""
    found = re.search(r"some avg10=([\d.]+)", host.tree.text("proc/pressure/memory") or "")
    return float(found[1]) if found else 0.0


def limits(host: HostProbe) -> CheckResult:
    """No control group limits memory or processors."""
    knobs = cgroup.knobs(host.tree)
    set_here = [
        f"{name.removeprefix('cgroup.')} {value}"
        for name, value in knobs.items()
        if name.endswith((".max", ".high")) and value != "max"
    ]
    if not set_here:
        return ok("none by control groups")
    return warning(
        f"control group: {', '.join(set_here)}; at the limit pages are dropped and fault again",
        "lift the limit, or give a dedicated host; each run records it",
    )
