"""Recognises memory that is given back and needed again, by the allocator or by the program itself."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.profile_numbers import OWN, Facts
from service.rules.diagnose.rule import Rule
from service.text.numbers import amount, number

MAX_CALLS_FOR_RESULT = 1.5
"""An operation that takes memory more often than this has temporary buffers besides its result."""
MIN_COSTLY_SHARE = 0.5
"""The share of the CPU time from which even a single buffer costs more than the work that is done with it."""
_TAKEN = ("mmap", "munmap", "brk", "mremap")


def _touched_again(facts: Facts) -> float:
    return facts.share(OWN, Touch.AFTER_MADVISE)


def _returned(facts: Facts) -> bool:
    return facts.calls("madvise") > 0 and _touched_again(facts) > 0


def _price_of_returned(facts: Facts) -> float:
    """Return what keeping the pages wins: the faults of the pages that came back, and the calls that gave them away."""
    return _touched_again(facts) * facts.fault_cost + facts.cost_of("madvise")


def _evidence_of_returned(facts: Facts) -> tuple[str, ...]:
    return (
        f"{_touched_again(facts):.0%} of the faults are on pages that madvise had given back: {_ratio(facts)}",
        f"{facts.calls('madvise'):,} calls of madvise; they and these faults take "
        f"{_price_of_returned(facts):.0%} of the CPU time",
        *facts.where,
    )


def _keep_pages(_: Facts) -> tuple[Remedy, ...]:
    return (
        Remedy(text="try an allocator that keeps its pages", settings={"allocator": "tcmalloc"}),
        Remedy(
            text="let jemalloc keep what was freed for longer",
            settings={"env.MALLOC_CONF": "dirty_decay_ms:30000,muzzy_decay_ms:30000"},
        ),
        Remedy(text="keep the buffer in the program instead of freeing it between operations"),
    )


RETURNED_MEMORY = Rule(
    name="returned-memory",
    title="Returned memory is touched again",
    condition=_returned,
    price=_price_of_returned,
    evidence=_evidence_of_returned,
    remedies=_keep_pages,
    report="a TensorFlow service: 10 % of all CPU time in faults under memcpy, 3 % with another allocator",
)


def _is_mapped_again(facts: Facts) -> float:
    return facts.share(OWN, Touch.AFTER_MUNMAP, Touch.AFTER_BRK)


def _cost_of_buffers(facts: Facts) -> float:
    return _is_mapped_again(facts) * facts.fault_cost + facts.cost_of(*_TAKEN)


def _is_temporary(facts: Facts) -> bool:
    """Return whether memory comes and goes that cannot be the result of an operation alone.

    An operation that takes memory once may take it for its result, which its caller needs: that is no temporary buffer,
    unless providing the memory costs more than all that is done with it.
    """
    if not _is_mapped_again(facts) or not facts.calls("munmap", "brk", "mremap"):
        return False
    takes = facts.takes_per_operation
    return (takes is not None and takes >= MAX_CALLS_FOR_RESULT) or _cost_of_buffers(facts) > MIN_COSTLY_SHARE


def _price_of_buffers(facts: Facts) -> float:
    """Return what keeping the buffers wins: all but the one that can be the result, where there are several."""
    takes = facts.takes_per_operation
    kept = 1 - 1 / takes if takes is not None and takes >= MAX_CALLS_FOR_RESULT else 1.0
    return kept * _cost_of_buffers(facts)


def _evidence_of_buffers(facts: Facts) -> tuple[str, ...]:
    each = facts.faults / facts.operations if facts.operations else None
    size = (
        f"{each:,.0f} faults per operation: {amount(each * facts.page_size)} are allocated and released" if each else ""
    )
    return (
        f"{_is_mapped_again(facts):.0%} of the faults are on pages that had been unmapped: {_ratio(facts)}",
        *([size] if size else []),
        f"{facts.calls('mmap'):,} mmap, {facts.calls('munmap'):,} munmap, {facts.calls('brk'):,} brk; "
        f"they and these faults take {_cost_of_buffers(facts):.0%} of the CPU time",
        *facts.where,
    )


def _keep_buffers(facts: Facts) -> tuple[Remedy, ...]:
    of_heap = Remedy(
        text="let the C library keep large blocks",
        settings={"env.MALLOC_MMAP_THRESHOLD_": "4294967296", "env.MALLOC_TRIM_THRESHOLD_": "4294967296"},
    )
    mapped = Remedy(text="map with MAP_POPULATE: all pages are provided at once instead of one by one")
    return (
        Remedy(text="keep the buffers between operations, or work on rows that stay in the cache"),
        of_heap if facts.anatomy.by_memory.get(Memory.HEAP) else mapped,
        Remedy(text="try an allocator that keeps its pages", settings={"allocator": "tcmalloc"}),
    )


TEMPORARY_BUFFERS = Rule(
    name="temporary-buffers",
    title="Temporary buffers are mapped again for each operation",
    condition=_is_temporary,
    price=_price_of_buffers,
    evidence=_evidence_of_buffers,
    remedies=_keep_buffers,
    report="an image filter: 486,270 faults from temporary images, 97,460 with rows or MAP_POPULATE",
)


def _ratio(facts: Facts) -> str:
    ratio = facts.anatomy.refault_ratio
    times = f"{number(ratio)} times each" if ratio else "each several times"
    return f"{facts.anatomy.pages:,} pages faulted {times}"
