"""Chooses remedies for memory that is given back and needed again, for the runtime and the malloc of the process."""

from __future__ import annotations

import re
from collections.abc import Sequence

from runner.contract.diagnosis import Remedy
from runner.contract.profile import Frame
from service.rules.diagnose.process_contents import (
    Allocator,
    Runtime,
    find_jemalloc_variable,
    identify_allocator,
    identify_runtime,
    is_malloc_replaceable,
)
from service.rules.diagnose.profile_facts import Facts

COLLECTING_RUNTIMES = frozenset({Runtime.JVM, Runtime.GO, Runtime.V8, Runtime.DOTNET})
"""Runtimes whose collector manages a heap of its own."""
_FORCED_BY_PROGRAM = re.compile(r"freeOSMemory|FreeOSMemory|scavengeAll")
"""Functions of Go's runtime that give all free memory back because the program asks for it."""
_LARGEST_THRESHOLD = "4294967296"
KEEP_BUFFER = Remedy(text="keep the buffer in the program instead of returning it to the kernel between operations")


def suggest_heap_settings(facts: Facts) -> tuple[Remedy, ...]:
    """Return the settings that keep freed memory in the process, for the runtime or the malloc that gives it back.

    If the program itself maps and unmaps memory, no setting has an effect, so none is returned.
    """
    runtime = identify_runtime(facts.profile)
    if runtime is Runtime.GO:
        return (_choose_go_remedy(facts), *_RUNTIME_REMEDIES[runtime])
    if runtime in COLLECTING_RUNTIMES:
        return _RUNTIME_REMEDIES[runtime]
    if facts.maps_itself:
        return ()
    return suggest_malloc_settings(facts)


def suggest_malloc_settings(facts: Facts) -> tuple[Remedy, ...]:
    """Return the settings of the malloc that keep freed memory in the process, and the setting that replaces it."""
    allocator = identify_allocator(facts.profile)
    settings = _ALLOCATOR_REMEDIES[allocator] if allocator else _PROGRAM_REMEDIES
    if allocator is Allocator.GLIBC and facts.profile.calls_mallopt:
        settings = (_MALLOPT_REMEDY,)
    if allocator is Allocator.JEMALLOC:
        settings = tuple(_rename_jemalloc_variable(remedy, facts) for remedy in settings)
    if not is_malloc_replaceable(facts.profile) or allocator is Allocator.TCMALLOC:
        return settings
    return (*settings, Remedy(text="try an allocator that keeps its pages", settings={"allocator": "tcmalloc"}))


def _choose_go_remedy(facts: Facts) -> Remedy:
    """Return the remedy for what makes Go give memory back: the program, which is assumed if unknown, or a limit."""

    def is_forced(frames: Sequence[Frame]) -> bool:
        return any(_FORCED_BY_PROGRAM.search(frame.function) for frame in frames)

    is_known = facts.profile.returned is not None
    if not is_known or facts.find_returning_place(is_forced, "madvise") is True:
        return _FREE_OS_MEMORY_REMEDY
    return _MEMORY_LIMIT_REMEDY


def _rename_jemalloc_variable(remedy: Remedy, facts: Facts) -> Remedy:
    """Return a remedy with the variable that the jemalloc of the process reads."""
    variable = find_jemalloc_variable(facts.profile)
    return remedy.model_copy(update={"settings": {f"env.{variable}": value for value in remedy.settings.values()}})


_RUNTIME_REMEDIES: dict[Runtime, tuple[Remedy, ...]] = {
    Runtime.JVM: (
        Remedy(
            text="let the collector keep the heap: increase MinHeapFreeRatio and MaxHeapFreeRatio",
            settings={"env._JAVA_OPTIONS": "-XX:MinHeapFreeRatio=90 -XX:MaxHeapFreeRatio=100"},
        ),
        Remedy(
            text="give the heap its full size from the start (-Xms equal to -Xmx), and touch all of it then "
            "(-XX:+AlwaysPreTouch)"
        ),
        Remedy(text="let ZGC or Shenandoah keep freed memory: -XX:-ZUncommit or -XX:-ShenandoahUncommit"),
    ),
    Runtime.GO: (
        Remedy(
            text="return memory lazily, so that pages that are soon touched again are still there",
            settings={"env.GODEBUG": "madvdontneed=0"},
        ),
        Remedy(text="let the heap grow further before it is collected", settings={"env.GOGC": "400"}),
    ),
    Runtime.V8: (
        Remedy(
            text="give the young generation more room, so that it is resized less often",
            settings={"env.NODE_OPTIONS": "--max-semi-space-size=64"},
        ),
        Remedy(text="reuse buffers (Buffer.allocUnsafe from a pool) instead of allocating one for each operation"),
    ),
    Runtime.DOTNET: (
        Remedy(text="let the collector keep its segments", settings={"env.DOTNET_GCRetainVM": "1"}),
        Remedy(text="rent buffers from ArrayPool instead of allocating them"),
    ),
}
_FREE_OS_MEMORY_REMEDY = Remedy(text="if the program calls debug.FreeOSMemory between bursts, remove these calls")
_MEMORY_LIMIT_REMEDY = Remedy(
    text="if the program has a memory limit (debug.SetMemoryLimit, GOMEMLIMIT), raise it: near the limit, Go's runtime "
    "gives back memory that it needs again at once"
)
_MALLOPT_REMEDY = Remedy(
    text="raise the thresholds that the program sets with mallopt (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD), or do not set "
    "them: variables such as MALLOC_TRIM_THRESHOLD_ cannot change what the program has set"
)
_GLIBC_REMEDY = Remedy(
    text="let the C library keep large blocks",
    settings={"env.MALLOC_MMAP_THRESHOLD_": _LARGEST_THRESHOLD, "env.MALLOC_TRIM_THRESHOLD_": _LARGEST_THRESHOLD},
)
_PROGRAM_REMEDIES = (Remedy(text="map memory once and keep the mapping (no malloc was recognised in this program)"),)
_ALLOCATOR_REMEDIES: dict[Allocator, tuple[Remedy, ...]] = {
    Allocator.GLIBC: (_GLIBC_REMEDY,),
    Allocator.JEMALLOC: (
        Remedy(
            text="let jemalloc keep freed memory longer",
            settings={"env.MALLOC_CONF": "dirty_decay_ms:30000,muzzy_decay_ms:30000"},
        ),
    ),
    Allocator.TCMALLOC: (Remedy(text="let tcmalloc keep freed memory", settings={"env.TCMALLOC_RELEASE_RATE": "0"}),),
    Allocator.MIMALLOC: (Remedy(text="let mimalloc keep freed memory", settings={"env.MIMALLOC_PURGE_DELAY": "-1"}),),
    Allocator.MUSL: (
        Remedy(
            text="musl's malloc unmaps each large block when it is freed: reuse large buffers instead of freeing them"
        ),
    ),
}
