"""What a process has in it: its runtime and its malloc, so that remedies fit."""

from __future__ import annotations

from typing import Literal

import pytest

from runner.contract.profile import FaultKind, Frame, Memory, Stack, StackKind, StackProfile, Touch
from service.rules.diagnose.heap_remedies import suggest_heap_settings
from service.rules.diagnose.process_contents import (
    Allocator,
    Runtime,
    identify_allocator,
    identify_runtime,
    is_malloc_replaceable,
)
from service.rules.diagnose.profile_facts import Facts, is_image_file
from tests.service.profiles import anatomy, profile

LIBC = "/usr/lib/x86_64-linux-gnu/libc.so.6"


def process(*files: str, functions: tuple[str, ...] = (), module: str = "prog") -> Facts:
    """Return the facts of a process that has some files in its memory, and executes some functions."""
    kinds = (
        *(FaultKind(memory=Memory.FILE_TEXT, touch=Touch.FIRST, file=file, faults=0) for file in files),
        FaultKind(memory=Memory.ANONYMOUS, touch=Touch.FIRST, faults=100),
    )
    frames = (Frame(function="main", module=module), *(Frame(function=name, module=module) for name in functions))
    made = anatomy({Touch.FIRST: 100}, kinds=kinds)
    return Facts.from_profile(profile(made, frames=frames, on_cpu=None, off_cpu=None))


@pytest.mark.parametrize(
    ("facts", "runtime", "allocator", "variable"),
    [
        (process(LIBC), None, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
        (process(LIBC, "/usr/lib/libjemalloc.so.2"), None, Allocator.JEMALLOC, "env.MALLOC_CONF"),
        (process(LIBC, functions=("je_arena_decay",)), None, Allocator.JEMALLOC, "env.MALLOC_CONF"),
        (process(LIBC, "/usr/lib/libtcmalloc_minimal.so.4"), None, Allocator.TCMALLOC, "env.TCMALLOC_RELEASE_RATE"),
        (process(LIBC, functions=("mi_free",)), None, Allocator.MIMALLOC, "env.MIMALLOC_PURGE_DELAY"),
        (process("/lib/ld-musl-x86_64.so.1"), None, Allocator.MUSL, "allocator"),
        (process(LIBC, "/opt/jdk/lib/server/libjvm.so"), Runtime.JVM, Allocator.GLIBC, "env._JAVA_OPTIONS"),
        (process(functions=("runtime.mallocgc",)), Runtime.GO, None, "env.GODEBUG"),
        (process(LIBC, module="/usr/bin/node"), Runtime.V8, Allocator.GLIBC, "env.NODE_OPTIONS"),
        (process(LIBC, "/opt/dotnet/libcoreclr.so"), Runtime.DOTNET, Allocator.GLIBC, "env.DOTNET_GCRetainVM"),
        (process(LIBC, "/usr/bin/python3.11"), Runtime.PYTHON, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
        (process(), None, None, ""),
        (process(LIBC, functions=("_rjem_malloc",)), None, Allocator.JEMALLOC, "env._RJEM_MALLOC_CONF"),
        (process(LIBC, functions=("je_calloc", "je_malloc_default")), None, Allocator.JEMALLOC, "env.JE_MALLOC_CONF"),
        (process(LIBC, functions=("arena_alloc",)), None, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
        (process(LIBC, functions=("mi_write", "_mi_new")), None, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
        (process(LIBC, functions=("mi_read",), module="[kernel]"), None, Allocator.GLIBC, "allocator"),
        (process(f"{LIBC} (deleted)"), None, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
        (process(LIBC, "/opt/jdk/libjvm.so (deleted)"), Runtime.JVM, Allocator.GLIBC, "env._JAVA_OPTIONS"),
        (process(functions=("_int_malloc",)), None, Allocator.GLIBC, "env.MALLOC_TRIM_THRESHOLD_"),
    ],
    ids=(
        *("glibc", "jemalloc", "jemalloc linked in", "tcmalloc", "mimalloc", "musl"),
        *("JVM", "Go", "Node", ".NET", "Python", "static"),
        *("jemalloc of Rust", "jemalloc with a prefix", "an allocator of the program's own", "tables of MyISAM"),
        *("a function of the kernel", "a replaced C library", "a replaced JVM", "a static C library"),
    ),
)
def test_remedies_fit_what_is_in_the_process(
    facts: Facts, runtime: Runtime | None, allocator: Allocator | None, variable: str
) -> None:
    assert identify_runtime(facts.profile) is runtime
    assert identify_allocator(facts.profile) is allocator
    settings = {name for remedy in suggest_heap_settings(facts) for name in remedy.settings}
    assert variable in settings if variable else not settings


def test_data_of_a_library_that_was_replaced_is_of_the_program() -> None:
    facts = process(LIBC)
    assert is_image_file(facts.profile, Memory.FILE_DATA, "/usr/lib/libssl.so.3 (deleted)")
    assert not is_image_file(facts.profile, Memory.FILE_DATA, "/var/lib/table (deleted)")


def test_malloc_is_replaced_only_where_the_program_loads_one() -> None:
    assert is_malloc_replaceable(process(LIBC).profile)
    assert not is_malloc_replaceable(process().profile)
    assert not is_malloc_replaceable(process(LIBC, functions=("mi_free",)).profile)
    assert not is_malloc_replaceable(process(functions=("_int_malloc",)).profile)
    assert is_malloc_replaceable(process(LIBC, functions=("mi_read",), module="[kernel]").profile)


def test_a_static_go_program_is_not_offered_another_malloc() -> None:
    remedies = suggest_heap_settings(process(functions=("runtime.mallocgc",)))
    assert not any("allocator" in remedy.settings or "env.MALLOC_CONF" in remedy.settings for remedy in remedies)


@pytest.mark.parametrize(
    ("callers", "call_graph", "is_own"),
    [
        (("main", "reset_arena"), "dwarf", True),
        (("main", "free", "munmap_chunk"), "dwarf", False),
        (("main", "operator delete(void*)"), "dwarf", False),
        (("main", "__GI___libc_realloc"), "dwarf", False),
        (("main", "malloc@@GLIBC_2.2.5"), "dwarf", False),
        (("main", "je_arena_decay"), "dwarf", False),
        (("main",), "fp", False),
    ],
    ids=(
        *("the program", "malloc", "C++", "a local name of the C library", "a name with a version"),
        "an allocator that is linked in",
        "frame pointers, which miss the function that called",
    ),
)
def test_no_setting_of_malloc_is_offered_where_the_program_maps(
    callers: tuple[str, ...], call_graph: Literal["fp", "dwarf"], is_own: bool
) -> None:
    frames = tuple(Frame(function=name, module="prog") for name in (*callers, "__munmap", "__x64_sys_munmap"))
    stack = Stack(frames=tuple(range(len(frames))), weight=1000)
    on_cpu = StackProfile(
        kind=StackKind.ON_CPU, samples=100, period=10, total=1000, call_graph=call_graph, stacks=(stack,)
    )
    made = anatomy({Touch.AFTER_MUNMAP: 100})
    facts = Facts.from_profile(profile(made, frames=frames, on_cpu=on_cpu, off_cpu=None))
    assert facts.maps_itself is is_own
    assert (suggest_heap_settings(facts) == ()) is is_own


def test_variables_are_not_proposed_to_a_program_that_sets_malloc_itself() -> None:
    facts = process(LIBC)
    own = Facts.from_profile(facts.profile.model_copy(update={"calls_mallopt": True}))
    settings = {name for remedy in suggest_heap_settings(own) for name in remedy.settings}
    assert "env.MALLOC_TRIM_THRESHOLD_" not in settings
    assert "mallopt" in suggest_heap_settings(own)[0].text


@pytest.mark.parametrize(
    ("returning", "word"),
    [
        (("main.handle", "runtime/debug.FreeOSMemory", "runtime.madvise", "madvise"), "FreeOSMemory"),
        (("main.handle", "runtime.(*pageAlloc).scavenge", "runtime.madvise", "madvise"), "SetMemoryLimit"),
        ((), "FreeOSMemory"),
    ],
    ids=("the program", "the scavenger", "unknown"),
)
def test_what_is_proposed_for_go_depends_on_who_gives_memory_back(returning: tuple[str, ...], word: str) -> None:
    facts = process(functions=("runtime.mallocgc", *returning))
    n_frames = len(facts.profile.frames)
    returned = None
    if returning:
        stack = Stack(frames=tuple(range(n_frames - len(returning), n_frames)), weight=90)
        returned = StackProfile(
            kind=StackKind.RETURNED, samples=90, period=1, total=90, call_graph="fp", stacks=(stack,)
        )
    with_calls = facts.profile.model_copy(update={"returned": returned})
    assert word in suggest_heap_settings(Facts.from_profile(with_calls))[0].text
