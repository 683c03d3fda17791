"""The memory management of the kernel: huge pages, overcommit, swap, merging of equal pages."""

import os
import re
from collections import defaultdict

from runner.system.tree import SettingValues, Tree

_THP_FOLDER = "sys/kernel/mm/transparent_hugepage"
_HUGETLB_FOLDER = "sys/kernel/mm/hugepages"
_SYSCTLS = (
    "overcommit_memory", "overcommit_ratio", "overcommit_kbytes", "swappiness", "page-cluster", "max_map_count",
    "nr_hugepages", "nr_overcommit_hugepages", "legacy_va_layout", "zone_reclaim_mode",
)  # fmt: skip
_FAULT_AROUND_DEFAULT = "65536"


def read_settings(tree: Tree) -> SettingValues:
    """Return the settings of memory management."""
    return {
        "memory.page_size": str(os.sysconf("SC_PAGE_SIZE")),
        "memory.total": _read_total(tree),
        "memory.lru_gen": tree.read_text("sys/kernel/mm/lru_gen/enabled"),
        "memory.fault_around_bytes": _read_fault_around(tree),
        "swap.kinds": _read_swap(tree),
        "swap.zswap": tree.read_text("sys/module/zswap/parameters/enabled"),
        "ksm.run": tree.read_text("sys/kernel/mm/ksm/run"),
        **{f"vm.{name}": tree.read_text(f"proc/sys/vm/{name}") for name in _SYSCTLS},
        **_read_transparent_huge_pages(tree),
        **_read_huge_page_pools(tree),
    }


def _read_total(tree: Tree) -> str | None:
    """Return the memory in whole GiB, rounded up, because the kernel's own figure changes a little with every boot.

    None if it cannot be read.
    """
    match = re.search(r"^MemTotal:\s+(\d+) kB", tree.read_text("proc/meminfo") or "", re.MULTILINE)
    return f"{-(-int(match[1]) // 2**20)} GiB" if match else None


def _read_fault_around(tree: Tree) -> str | None:
    """Return the bytes of a file that one fault maps; None if this is the kernel's default or cannot be read.

    Only root can read it. Leaving the default out keeps the environment the same for root and for others.
    """
    size = tree.read_text("sys/kernel/debug/fault_around_bytes")
    return None if size == _FAULT_AROUND_DEFAULT else size


def _read_swap(tree: Tree) -> str | None:
    """Return the kinds of swap areas, such as ``zram partition``, or ``none``; None if they cannot be read."""
    if tree.read_text("proc/swaps") is None:
        return None
    kinds = set()
    for line in tree.read_lines("proc/swaps")[1:]:  # Below the headings: "/dev/zram0 partition 4194300 0 100".
        fields = line.split()
        if len(fields) > 1:
            kinds.add("zram" if "/zram" in fields[0] else fields[1])
    return " ".join(sorted(kinds)) or "none"


def _read_transparent_huge_pages(tree: Tree) -> SettingValues:
    """Return the settings of transparent huge pages, for all sizes."""
    settings: SettingValues = {
        f"thp.{name}": tree.read_choice(f"{_THP_FOLDER}/{name}") for name in ("enabled", "defrag", "shmem_enabled")
    }
    for name in ("use_zero_page", "khugepaged/defrag", "khugepaged/max_ptes_none", "khugepaged/scan_sleep_millisecs"):
        settings[f"thp.{name.replace('/', '.')}"] = tree.read_text(f"{_THP_FOLDER}/{name}")
    sizes_by_setting = defaultdict(list)
    for folder in tree.list_names(_THP_FOLDER, "hugepages-*kB"):
        size = folder.removeprefix("hugepages-")
        settings[f"mthp.{size}"] = tree.read_choice(f"{_THP_FOLDER}/{folder}/enabled")
        if setting := tree.read_choice(f"{_THP_FOLDER}/{folder}/shmem_enabled"):
            sizes_by_setting[setting].append(size)
    # One setting describes all sizes: sizes are rarely configured, and eight more lines would hide the other settings.
    if sizes_by_setting:
        settings["mthp.shmem_enabled"] = " ".join(
            f"{setting}={','.join(sizes_by_setting[setting])}" for setting in sorted(sizes_by_setting)
        )
    return settings


def _read_huge_page_pools(tree: Tree) -> SettingValues:
    """Return the number of reserved huge pages by size, without surplus pages, whose number changes with demand."""
    settings: SettingValues = {}
    for folder in tree.list_names(_HUGETLB_FOLDER, "hugepages-*kB"):
        pages = tree.read_integer(f"{_HUGETLB_FOLDER}/{folder}/nr_hugepages")
        surplus = tree.read_integer(f"{_HUGETLB_FOLDER}/{folder}/surplus_hugepages") or 0
        settings[f"hugetlb.{folder.removeprefix('hugepages-')}"] = None if pages is None else str(pages - surplus)
    return settings
