"""Recognises new memory that is read before it is written, so that each page faults twice."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.profile_facts import Facts
from service.rules.diagnose.rule import Rule

MIN_PAGES = 256
"""Smallest number of pages that is worth a finding: 1 MiB."""
MIN_SHARE = 0.2
"""Smallest share of these faults in all faults; it cannot exceed half, because a read precedes each of these writes."""
_MEMORY = frozenset({Memory.HEAP, Memory.ARENA, Memory.ANONYMOUS, Memory.STATIC})


def _count_second_faults(facts: Facts) -> int:
    return facts.count_faults(_MEMORY, Touch.AFTER_READ)


def _is_read_first(facts: Facts) -> bool:
    """Return whether many pages were read while they were mapped to the zero page, and then written."""
    pages = _count_second_faults(facts)
    return pages >= MIN_PAGES and pages >= MIN_SHARE * facts.faults


def _estimate_one_fault_saving(facts: Facts) -> float:
    return facts.estimate_cost(_count_second_faults(facts))


def _describe_second_faults(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the number of pages that faulted twice, the price, and which code writes to them."""
    pages = _count_second_faults(facts)
    return (
        f"{pages:,} pages of new memory were read before they were written: the read maps the kernel's page of "
        "zeros, and the write faults again",
        f"the second faults take {facts.format_cost(_estimate_one_fault_saving(facts))} of the CPU time",
        *facts.describe_top_site("of the second faults are", {Touch.AFTER_READ}, _MEMORY),
    )


READ_BEFORE_WRITE = Rule(
    name="read-before-write",
    title="New memory is read before it is written, and faults twice",
    condition=_is_read_first,
    max_saving=_estimate_one_fault_saving,
    evidence=_describe_second_faults,
    remedies=lambda facts: (
        Remedy(
            text="write to new memory before reading it: fill what you will use (memset, MAP_POPULATE), or keep track "
            "of what is still empty"
        ),
        Remedy(
            text=f"use huge pages, which take two faults for {facts.pages_per_huge_page:,} pages, if most of these "
            "pages are used",
            settings={"thp": "always"},
        ),
    ),
    report="tables from calloc that are looked up before they are filled: two faults for each page",
    count=_count_second_faults,
)
