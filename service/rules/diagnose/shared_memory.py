"""Recognises shared memory that each process maps page by page."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule

MIN_MAPPED_AGAIN = 1024
"""Shared memory is large if at least this many faults are on pages that another process had touched."""
MIN_MAPPED_SHARE = 0.2
"""Smallest share of these faults in all faults."""
_FIRST_TOUCHES = (Touch.FIRST, Touch.AFTER_FORK)
"""The touches that are a process's first: a fork does not copy page tables of shared mappings."""


def _count_mapped_again(facts: Facts) -> int:
    """Return how many first touches were on pages of shared memory that another process had already touched.

    0 unless every fault was recorded, because a sample of the faults does not show which pages were touched before.
    """
    if facts.anatomy.period != 1:
        return 0
    return max(0, facts.count_faults({Memory.SHARED}, *_FIRST_TOUCHES) - facts.anatomy.shared_pages)


def _is_mapped_by_each(facts: Facts) -> bool:
    """Return whether several processes fault on the same pages of shared memory."""
    n_mapped_again = _count_mapped_again(facts)
    return n_mapped_again >= MIN_MAPPED_AGAIN and n_mapped_again >= MIN_MAPPED_SHARE * facts.faults


def _estimate_one_map_saving(facts: Facts) -> float:
    return facts.estimate_cost(_count_mapped_again(facts))


def _describe_shared_memory(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults on shared memory, its pages, and which code touches them."""
    pages = "" if facts.anatomy.is_scaled else f" on {facts.anatomy.shared_pages:,} pages"
    faults = facts.count_faults({Memory.SHARED}, *_FIRST_TOUCHES)
    return (
        f"{faults:,} first touches of shared memory{pages}: the memory already exists, but each process must map it "
        "into its own page table",
        f"first touches of pages that another process had already touched take "
        f"{facts.format_cost(_estimate_one_map_saving(facts))} of the CPU time",
        *facts.describe_top_site("of these first touches are", _FIRST_TOUCHES, {Memory.SHARED}),
    )


SHARED_MEMORY = Rule(
    name="shared-memory",
    title="Each process maps the shared memory page by page",
    condition=_is_mapped_by_each,
    max_saving=_estimate_one_map_saving,
    evidence=_describe_shared_memory,
    remedies=lambda _: (
        Remedy(
            text="back the shared memory with huge pages: MAP_HUGETLB or SHM_HUGETLB, huge_pages=on in PostgreSQL; "
            "MADV_HUGEPAGE if /sys/kernel/mm/transparent_hugepage/shmem_enabled is advise"
        ),
        Remedy(text="let processes live longer (by pooling connections): each new one faults on every page again"),
        Remedy(text="when a process starts, map everything that it will need (MADV_POPULATE_READ)"),
    ),
    report="a database with a process for each connection: each faults on every buffer that it reads",
    count=_count_mapped_again,
)
