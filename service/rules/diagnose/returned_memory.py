"""Recognises memory that is given back and needed again, by the allocator or by the program itself."""

from __future__ import annotations

from collections.abc import Sequence

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_amount, format_number, format_share
from runner.contract.profile import Frame, Memory, Touch
from service.rules.diagnose.heap_remedies import (
    COLLECTING_RUNTIMES,
    KEEP_BUFFER,
    suggest_heap_settings,
    suggest_malloc_settings,
)
from service.rules.diagnose.process_contents import Allocator, identify_allocator, identify_runtime
from service.rules.diagnose.profile_facts import OWN_MEMORY, Facts
from service.rules.diagnose.rule import Rule
from service.rules.diagnose.tail_calls import find_source_name

MIN_REQUESTS_FOR_BUFFER = 1.5
"""An operation that takes memory at least this often has temporary buffers besides its result."""
MIN_COSTLY_SHARE = 0.5
"""If even a single buffer takes more than this share of the CPU time, it costs more than the work done with it."""
MIN_REPEATED_TOUCHES = 4.0
"""If operations are unknown, memory comes and goes repeatedly if there are at least this many faults per page."""
MIN_REPEATED_COST = 0.05
"""Smallest share of the CPU time that such memory costs: with less, it can be the result of the program's work."""
MIN_GROWTH_FACTOR = 2.0
"""A change is the cause if at least this many times as many pages come and go as before."""
_MIN_MALLOC_SHARE = 0.5
"""Settings of glibc are offered if at least this share of the pages that madvise gave back is in arenas of malloc, and
another malloc if it is in the heap."""
_RETURNING_TOUCHES = (Touch.AFTER_MADVISE, Touch.AFTER_MUNMAP, Touch.AFTER_BRK)
_MALLOC_MEMORY = frozenset({Memory.HEAP})
"""Memory that only malloc takes: a collector maps its own memory, which can look like an arena of malloc."""
_MAPPING_CALLS = ("mmap", "munmap", "brk", "mremap")


def _is_heap_collected(facts: Facts) -> bool:
    """Return whether a runtime's collector manages the heap, so that it decides which memory is given back."""
    return identify_runtime(facts.profile) in COLLECTING_RUNTIMES


def _list_returned_kinds(facts: Facts) -> tuple[tuple[frozenset[Memory], tuple[Touch, ...]], ...]:
    """Return the kinds of memory, each with the touches, of pages that an allocator or a collector had given back.

    The first pair is for the memory of the allocator or the collector; if there is a collector, the second is for
    malloc's memory.
    """
    if not _is_heap_collected(facts):
        return ((OWN_MEMORY, (Touch.AFTER_MADVISE,)),)
    return ((OWN_MEMORY - _MALLOC_MEMORY, _RETURNING_TOUCHES), (_MALLOC_MEMORY, (Touch.AFTER_MADVISE,)))


def _list_returning_calls(facts: Facts) -> tuple[str, ...]:
    """Return the system calls with which the allocator or the collector gives pages back."""
    return ("madvise", *_MAPPING_CALLS) if _is_heap_collected(facts) else ("madvise",)


def _compute_refault_share(facts: Facts) -> float:
    """Return the share of the faults on pages that an allocator or a collector had given back."""
    return sum(facts.sum_shares(memory, *touches) for memory, touches in _list_returned_kinds(facts))


def _is_memory_returned(facts: Facts) -> bool:
    """Return whether an allocator or a collector gives pages back that the program touches again."""
    return facts.count_calls(*_list_returning_calls(facts)) > 0 and _compute_refault_share(facts) > 0


def _estimate_saving_of_kept_pages(facts: Facts) -> float:
    """Return the share of the CPU time that keeping the pages would save.

    These are the faults of the pages, and the calls that returned them. The calls count at most as much as the faults,
    because they also return pages that nobody touches again, and those of a collector also map new memory.
    """
    fault_cost = _compute_refault_share(facts) * facts.fault_cost_share
    return fault_cost + min(fault_cost, facts.sum_costs(*_list_returning_calls(facts)))


def _describe_returned_pages(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults on pages that had been given back, and what keeping the pages would save."""
    runtime = identify_runtime(facts.profile) if _is_heap_collected(facts) else None
    calls = _list_returning_calls(facts)
    # If there is a collector, the place is in its memory, not in malloc's.
    (memory, touches), *_ = _list_returned_kinds(facts)
    return (
        f"{format_share(_compute_refault_share(facts))} of the faults are on pages that {runtime or 'madvise'} had "
        f"given back{_describe_refaults(facts)}",
        f"calls: {_list_call_counts(facts, calls)}; keeping the pages would save up to "
        f"{format_share(_estimate_saving_of_kept_pages(facts))} of the CPU time",
        *_describe_returning_line(facts, calls),
        *facts.describe_top_site("of these faults are", touches, memory),
    )


def _suggest_keeping_pages(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that keep freed pages in the process: settings of its runtime or malloc, or code changes.

    glibc calls madvise only to trim: with its function ``malloc_trim``, which no setting changes, and at the end of the
    arenas of threads. Other pages are given back by the program itself, and no malloc keeps them.
    """
    settings = suggest_heap_settings(facts)
    replacing_settings = [remedy for remedy in settings if "allocator" in remedy.settings]
    if _is_trimmed_by_program(facts):
        return (Remedy(text="call malloc_trim less often, or not at all"), *replacing_settings)
    if identify_allocator(facts.profile) is not Allocator.GLIBC or _is_heap_collected(facts):
        return (*settings, KEEP_BUFFER)
    least_share = _MIN_MALLOC_SHARE * _compute_refault_share(facts)
    if facts.sum_shares(frozenset({Memory.ARENA}), Touch.AFTER_MADVISE) >= least_share:
        return (KEEP_BUFFER, *settings)
    if facts.sum_shares(_MALLOC_MEMORY, Touch.AFTER_MADVISE) >= least_share:
        return (KEEP_BUFFER, *replacing_settings)
    return (KEEP_BUFFER,)


def _is_trimmed_by_program(facts: Facts) -> bool:
    """Return whether most of the time in madvise is spent on behalf of calls of ``malloc_trim``."""

    def calls_trim(frames: Sequence[Frame]) -> bool:
        return any(find_source_name(frame.function) == "malloc_trim" for frame in frames)

    return facts.find_returning_place(calls_trim, "madvise") is True


RETURNED_MEMORY = Rule(
    name="returned-memory",
    title="Returned memory is touched again",
    condition=_is_memory_returned,
    max_saving=_estimate_saving_of_kept_pages,
    evidence=_describe_returned_pages,
    remedies=_suggest_keeping_pages,
    report="a TensorFlow service: 10 % of all CPU time in faults under memcpy, 3 % with another allocator",
    count=lambda facts: _compute_refault_share(facts) * facts.faults,
)


def _compute_remapped_share(facts: Facts) -> float:
    """Return the share of the faults on pages that had been unmapped, without pages that a collector manages."""
    memory = _MALLOC_MEMORY if _is_heap_collected(facts) else OWN_MEMORY
    return facts.sum_shares(memory, Touch.AFTER_MUNMAP, Touch.AFTER_BRK)


def _list_buffer_calls(facts: Facts) -> tuple[str, ...]:
    """Return the system calls that map and unmap buffers.

    If there is a collector, only the calls of brk are malloc's; the collector makes the others.
    """
    return ("brk",) if _is_heap_collected(facts) else _MAPPING_CALLS


def _compute_buffer_cost(facts: Facts) -> float:
    """Return the share of the CPU time that remapping buffers takes: their faults, and the calls that map and unmap."""
    return _compute_remapped_share(facts) * facts.fault_cost_share + facts.sum_costs(*_list_buffer_calls(facts))


def _has_temporary_buffers(facts: Facts) -> bool:
    """Return whether memory comes and goes that is not just the result of an operation.

    An operation that takes memory once may need it for its result. This is no temporary buffer, unless providing the
    memory costs more than everything done with it. A server sends its results away, so all memory that comes and goes
    in its windows is a buffer. Memory that comes and goes more often than before is due to a change, so it counts as
    well.
    """
    if not _compute_remapped_share(facts) or not facts.count_calls("munmap", "brk", "mremap"):
        return False
    if facts.profile.scope == "windows":
        return facts.count_calls("munmap", "brk") > 0
    if _has_grown(facts):
        return True
    requests_per_operation = _count_requests_per_operation(facts)
    if requests_per_operation is not None and requests_per_operation >= MIN_REQUESTS_FOR_BUFFER:
        return True
    # If operations are unknown, repeated faults per page show that memory comes and goes. With a collector, they may be
    # due to its work.
    is_touched_repeatedly = (facts.anatomy.refault_ratio or 0) >= MIN_REPEATED_TOUCHES
    if requests_per_operation is None and not _is_heap_collected(facts) and is_touched_repeatedly:
        return _compute_buffer_cost(facts) >= MIN_REPEATED_COST
    return _compute_buffer_cost(facts) > MIN_COSTLY_SHARE


def _count_requests_per_operation(facts: Facts) -> float | None:
    """Return how often an operation takes memory and gives it back; if there is a collector, only malloc's calls count.

    None if operations are unknown.
    """
    if _is_heap_collected(facts):  # half of the calls of brk give back what the others took
        return facts.count_calls("brk") / 2 / facts.operations if facts.operations else None
    return facts.requests_per_operation


def _has_grown(facts: Facts) -> bool:
    """Return whether several times as many faults as before the change are on pages that had been unmapped."""
    if facts.before is None:
        return False
    faults_before, faults_after = (_compute_remapped_share(side) * side.faults for side in (facts.before, facts))
    return faults_after >= MIN_GROWTH_FACTOR * faults_before


def _estimate_kept_buffers_saving(facts: Facts) -> float:
    """Return the share of the CPU time that keeping the buffers saves.

    If an operation has several buffers, one of them may be its result, which cannot be kept.
    """
    requests_per_operation = _count_requests_per_operation(facts)
    kept_share = 1.0
    if requests_per_operation is not None and requests_per_operation >= MIN_REQUESTS_FOR_BUFFER:
        kept_share = 1 - 1 / requests_per_operation
    return kept_share * _compute_buffer_cost(facts)


def _describe_buffers(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the faults on pages that had been unmapped, also per operation, and their cost."""
    operation_text = ""
    if facts.operations:
        faults = facts.faults / facts.operations
        amount = format_amount(faults * facts.page_size)
        operation_text = f"{faults:,.0f} faults per operation on average: {amount} of pages" if faults else ""
    return (
        f"{format_share(_compute_remapped_share(facts))} of the faults are on pages that had been unmapped"
        f"{_describe_refaults(facts)}",
        *([operation_text] if operation_text else []),
        f"calls: {_list_call_counts(facts, _list_buffer_calls(facts))}; these calls and the faults on unmapped pages "
        f"take {facts.format_cost(_compute_buffer_cost(facts))} of the CPU time",
        *_describe_returning_line(facts, ("munmap", "brk", "mremap")),
        *facts.top_function,
    )


def _suggest_keeping_buffers(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that keep buffers between operations: in the program, the C library, or another allocator."""
    maps_itself = not any(facts.anatomy.by_memory.get(kind) for kind in (Memory.HEAP, Memory.ARENA))
    populates_less = facts.before is not None and facts.before.populated_bytes > facts.populated_bytes
    mapping_remedy = Remedy(
        text="map with MAP_POPULATE, so that all pages are faulted in at once instead of one by one"
    )
    return (
        Remedy(text="keep the buffers between operations, or work on rows that fit into the cache"),
        *([mapping_remedy] if maps_itself and not populates_less else []),
        *(suggest_malloc_settings(facts) if _is_heap_collected(facts) else suggest_heap_settings(facts)),
    )


TEMPORARY_BUFFERS = Rule(
    name="temporary-buffers",
    title="Temporary buffers are mapped again for each operation",
    condition=_has_temporary_buffers,
    max_saving=_estimate_kept_buffers_saving,
    evidence=_describe_buffers,
    remedies=_suggest_keeping_buffers,
    report="an image filter: 486,270 faults from temporary images, 97,460 with temporary rows or MAP_POPULATE",
    count=lambda facts: _compute_remapped_share(facts) * facts.faults,
)


def _list_call_counts(facts: Facts, calls: tuple[str, ...]) -> str:
    """Return how often each of the given calls was made; calls that were not made are left out."""
    return ", ".join(f"{facts.count_calls(name):,} {name}" for name in calls if facts.count_calls(name))


def _describe_refaults(facts: Facts) -> str:
    """Return how often the pages of the program faulted, on average over all of them, as the end of a sentence.

    Empty if only a part of the faults was recorded.
    """
    ratio = facts.anatomy.refault_ratio
    if ratio is None or facts.anatomy.is_scaled:
        return ""
    times = "once" if ratio == 1 else f"{format_number(ratio)} times on average"
    return f": {facts.anatomy.pages:,} pages faulted {times}"


def _describe_returning_line(facts: Facts, calls: tuple[str, ...]) -> tuple[str, ...]:
    """Return as evidence the line of the program from which the given calls give memory back; empty if unknown."""
    line = facts.find_returning_line(*calls)
    if not line:
        return ()
    if facts.profile.returned is not None:
        return (f"most of the pages that fault again were given back by {line}",)
    return (f"at least half of the CPU time in calls that give memory back comes from {line}",)
