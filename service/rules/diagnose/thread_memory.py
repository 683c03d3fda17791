"""Recognises faults on the memory of individual threads: their stacks, and their arenas of malloc."""

from __future__ import annotations

from runner.contract.diagnosis import Remedy
from runner.contract.number_text import format_share
from runner.contract.profile import Memory, Touch
from service.rules.diagnose.process_contents import Allocator, Runtime, identify_allocator, identify_runtime
from service.rules.diagnose.profile_facts import Facts, compute_system_share
from service.rules.diagnose.rule import Rule

MIN_STARTED_THREADS = 64
"""If at least this many threads are started, they are started for tasks: a program starts fewer for its processors."""
MIN_ARENA_PAGES = 256
"""Smallest increase in pages of arenas that is worth a finding."""
_SECONDS_PER_THREAD, _SECONDS_PER_FAULT = 5e-5, 1e-6
"""The CPU time, in seconds, that is assumed for starting and ending a thread, and for touching a page again. On virtual
machines, 33 to 80 µs and 0.5 µs were measured. With a higher value, a few new connections a second would count."""
_STACK_TOUCHES = (Touch.AFTER_MADVISE, Touch.AFTER_MUNMAP)
"""Touches after the C library has emptied (madvise) or unmapped the stack of a thread that has ended."""


def _count_stack_refaults(facts: Facts) -> int:
    return facts.count_faults({Memory.STACK}, *_STACK_TOUCHES)


def _has_thread_per_task(facts: Facts) -> bool:
    """Return whether many threads start, and each touches at least one page of a stack that another had given back."""
    return MIN_STARTED_THREADS <= facts.anatomy.threads <= _count_stack_refaults(facts)


def _estimate_pool_saving(facts: Facts) -> float:
    """Return the share of the CPU time that a pool of threads saves: stack faults, and starting and ending threads.

    It is estimated as the share of these faults in all faults, times the system time, limited by what so many threads
    and faults can cost. CPU-time samples do not show it, because each thread begins a new sampling period, and ends
    before the period is over.
    """
    if not facts.faults:
        return 0.0
    refaults = _count_stack_refaults(facts)
    share = compute_system_share(facts.profile) * refaults / facts.faults
    if not facts.cpu_seconds:
        return share
    max_seconds = facts.anatomy.threads * _SECONDS_PER_THREAD + refaults * _SECONDS_PER_FAULT
    return min(share, max_seconds / facts.cpu_seconds)


def _describe_started_threads(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the number of threads, the faults on their stacks, and which code touches most."""
    threads, refaults = facts.anatomy.threads, _count_stack_refaults(facts)
    return (
        f"{threads:,} threads were started; {refaults:,} faults (about {refaults / threads:,.0f} for each thread) are "
        "on pages of stacks that had been given back to the kernel",
        f"{format_share(compute_system_share(facts.profile))} of the CPU time is system time, which includes the time "
        "to start and end threads and to handle their faults",
        *facts.describe_top_site("of these faults are", _STACK_TOUCHES, {Memory.STACK}),
    )


_POOLS = {
    Runtime.PYTHON: "concurrent.futures.ThreadPoolExecutor",
    Runtime.JVM: "an ExecutorService, or virtual threads",
}


def _suggest_pool(facts: Facts) -> tuple[Remedy, ...]:
    """Return remedies that avoid the faults on new stacks: a pool of threads, named as in the runtime."""
    runtime = identify_runtime(facts.profile)
    example = f" ({_POOLS[runtime]})" if runtime in _POOLS else ""
    return (
        Remedy(text=f"reuse threads for many tasks{example} instead of starting one for each task"),
        Remedy(text="do not put large arrays on the stack, because each new thread touches them again"),
    )


THREAD_PER_TASK = Rule(
    name="thread-per-task",
    title="Short-lived threads touch their stacks again and again",
    condition=_has_thread_per_task,
    max_saving=_estimate_pool_saving,
    evidence=_describe_started_threads,
    remedies=_suggest_pool,
    report="a server with a thread for each request: the C library gives back the stack of each thread that ends",
    count=_count_stack_refaults,
)


def _count_additional_arena_pages(facts: Facts) -> int:
    """Return how many more pages of arenas are touched for the first time than before; 0 without an earlier profile."""
    if facts.before is None:
        return 0
    return facts.count_faults({Memory.ARENA}, Touch.FIRST) - facts.before.count_faults({Memory.ARENA}, Touch.FIRST)


def _has_more_arenas(facts: Facts) -> bool:
    """Return whether there are more threads than before, and first touches of arenas are most of the additional faults.

    If the heap shrank by as much, the memory only moved into the arenas, and the number of faults did not grow.
    """
    if facts.before is None or facts.anatomy.threads <= facts.before.anatomy.threads:
        return False
    additional_pages = _count_additional_arena_pages(facts)
    growth = facts.faults - facts.before.faults
    return (
        identify_allocator(facts.profile) is Allocator.GLIBC
        and additional_pages >= MIN_ARENA_PAGES
        and growth <= 2 * additional_pages
        and additional_pages <= 2 * growth
    )


def _estimate_arena_saving(facts: Facts) -> float:
    return facts.estimate_cost(_count_additional_arena_pages(facts))


def _describe_arenas(facts: Facts) -> tuple[str, ...]:
    """Return the evidence: the number of threads and the first touches of arenas, before and after."""
    assert facts.before is not None
    pages_before, pages_after = (side.count_faults({Memory.ARENA}, Touch.FIRST) for side in (facts.before, facts))
    return (
        f"{facts.before.anatomy.threads:,} → {facts.anatomy.threads:,} threads were started",
        f"{pages_before:,} → {pages_after:,} pages of malloc's arenas were touched for the first time",
        *facts.describe_top_site("of the first touches are", {Touch.FIRST}, {Memory.ARENA}),
    )


MORE_ARENAS = Rule(
    name="malloc-arenas",
    title="More threads are started, and malloc uses more arenas",
    condition=_has_more_arenas,
    max_saving=_estimate_arena_saving,
    evidence=_describe_arenas,
    remedies=lambda _: (
        Remedy(
            text="let threads share arenas, so that one thread can reuse what another freed",
            settings={"env.MALLOC_ARENA_MAX": "2"},
        ),
        Remedy(text="use fewer threads, for example one for each processor"),
    ),
    report=(
        "servers with many threads: freed memory stays in its arena, and threads that use other arenas cannot reuse it"
    ),
    is_comparison=True,
)
