"""Recognises memory that is given back and needed again, by the allocator or by the program itself. Pure."""

from __future__ import annotations

from runner.contract.diagnosis import Finding, Remedy
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.profile_numbers import PAGE, Facts

LEAST_COST = 0.10
"""The share of the CPU time from which it matters: the service in the report lost as much."""
COSTLY = 0.60
"""The same share where each operation takes memory only once: that may be its result, which has to be stored."""
MANY = 1.5
"""An operation that takes memory more often than this has temporary buffers besides its result."""
MOSTLY = 0.5


def returned_memory(facts: Facts) -> Finding | None:
    """Recognise an allocator that returns pages to the kernel which the program then touches again."""
    share = facts.share(Touch.AFTER_MADVISE)
    if share < MOSTLY or facts.cost < LEAST_COST:
        return None
    return Finding(
        rule="returned-memory",
        title="Returned memory is touched again",
        evidence=(
            f"{share:.0%} of the faults are on pages that madvise had given back: {_ratio(facts)}",
            f"{facts.calls('madvise'):,} calls of madvise; they and the faults take {facts.cost:.0%} of the CPU time",
            *_where(facts),
        ),
        remedies=(
            Remedy(text="try an allocator that keeps its pages", settings={"allocator": "tcmalloc"}),
            Remedy(
                text="let jemalloc keep what was freed for longer",
                settings={"env.MALLOC_CONF": "dirty_decay_ms:30000,muzzy_decay_ms:30000"},
            ),
            Remedy(text="keep the buffer in the program instead of freeing it between operations"),
        ),
        report="a TensorFlow service: 10 % of all CPU time in faults under memcpy, 3 % with another allocator",
        weight=facts.cost * share,
    )


def temporary_buffers(facts: Facts) -> Finding | None:
    """Recognise buffers that each operation maps, or grows the heap for, and unmaps again."""
    share = facts.share(Touch.AFTER_MUNMAP, Touch.AFTER_BRK)
    own = facts.of_program
    if share < MOSTLY or own < MOSTLY or facts.cost < LEAST_COST:
        return None
    times = facts.takes_per_operation
    if (times is None or times < MANY) and facts.cost < COSTLY:
        return None
    each = facts.faults / facts.operations if facts.operations else None
    size = f"{each:,.0f} faults per operation: {each * PAGE / 2**20:.3g} MiB are taken and given back" if each else ""
    return Finding(
        rule="temporary-buffers",
        title="Temporary buffers are mapped anew for each operation",
        evidence=(
            f"{share:.0%} of the faults are on pages that had been unmapped: {_ratio(facts)}",
            *([size] if size else []),
            f"{facts.calls('mmap'):,} mmap, {facts.calls('munmap'):,} munmap, {facts.calls('brk'):,} brk; "
            f"they and the faults take {facts.cost:.0%} of the CPU time",
            *_where(facts),
        ),
        remedies=(
            Remedy(text="keep the buffers between operations, or work on rows that stay in the cache"),
            Remedy(
                text="let the C library keep large blocks",
                settings={"env.MALLOC_MMAP_THRESHOLD_": "4294967296", "env.MALLOC_TRIM_THRESHOLD_": "4294967296"},
            )
            if facts.anatomy.by_memory.get(Memory.HEAP)
            else Remedy(text="map with MAP_POPULATE: all pages are provided at once instead of one by one"),
            Remedy(text="try an allocator that keeps its pages", settings={"allocator": "tcmalloc"}),
        ),
        report="an image filter: 486,270 faults from temporary images, 97,460 with rows or MAP_POPULATE",
        weight=facts.cost * share,
    )


def _ratio(facts: Facts) -> str:
    ratio = facts.anatomy.refault_ratio
    times = f"{ratio:.3g} times each" if ratio else "each several times"
    return f"{facts.anatomy.pages:,} pages faulted {times}"


def _where(facts: Facts) -> tuple[str, ...]:
    return (facts.where,) if facts.where else ()
