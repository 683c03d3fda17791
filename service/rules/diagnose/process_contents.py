"""Identifies the runtime and the allocator of a profiled process, so that remedies fit the program."""

from __future__ import annotations

import re
from enum import StrEnum

from runner.contract.profile import DELETED_SUFFIX, Frame, Profile
from runner.contract.runtimes import RuntimeName, find_runtime


class Runtime(StrEnum):
    """A language runtime that manages its own heap."""

    JVM = "the JVM"
    GO = "Go's runtime"
    V8 = "V8"
    DOTNET = ".NET's runtime"
    PYTHON = "Python"


class Allocator(StrEnum):
    """An implementation of malloc."""

    JEMALLOC = "jemalloc"
    TCMALLOC = "tcmalloc"
    MIMALLOC = "mimalloc"
    GLIBC = "glibc"
    MUSL = "musl"


_RUNTIMES = {
    RuntimeName.JAVA: Runtime.JVM,
    RuntimeName.NODE: Runtime.V8,
    RuntimeName.DOTNET: Runtime.DOTNET,
    RuntimeName.PYTHON: Runtime.PYTHON,
}
_GO_FUNCTION = re.compile(r"runtime\.(?:mallocgc|mcall|main|goexit|gcBgMarkWorker|memclrNoHeapPointers|asmcgocall)\b.*")
_ALLOCATOR_FILES = {
    Allocator.JEMALLOC: re.compile(r"libjemalloc\.so[\d.]*$"),
    Allocator.TCMALLOC: re.compile(r"libtcmalloc\w*\.so[\d.]*$"),
    Allocator.MIMALLOC: re.compile(r"libmimalloc(?:-\w+)?\.so[\d.]*$"),
}
_ALLOCATOR_FUNCTIONS = {
    Allocator.JEMALLOC: re.compile(
        r"_?(?:rjem|rje|je)_\w+|(?:arena|extents?|ehooks|pac|hpa)_(?:\w+_)?(?:decay|purge)\w*|arena_slab_d?alloc|"
        r"(?:pac|hpa|extent|ehooks)_alloc_(?:batch|hook|impl|new|real|retained|wrapper)\w*"
    ),
    Allocator.TCMALLOC: re.compile(r"tcmalloc::.*|TCMalloc_\w+"),
    Allocator.MIMALLOC: re.compile(
        r"_?mi_(?:(?:abandoned|arenas?|bin|bitmap|heap|os|page|prim|segments?|tld|theap)_\w+|"
        r"(?:m|z|c|re|rec|rez)alloc\w*|c?free\w*|memalign|posix_memalign|aligned_alloc|expand|collect)|mi_new\w*"
    ),
}
"""Functions of allocators that are linked into a program. Functions of programs can have similar names, such as
``arena_alloc``, or ``mi_write`` of MyISAM."""
_STATIC_GLIBC_FUNCTION = re.compile(
    r"_int_(?:malloc|free|realloc|memalign)\w*|sysmalloc\w*|systrim\w*|(?:unlink|munmap|mremap)_chunk\w*|"
    r"malloc_consolidate"
)
"""Functions of glibc's malloc. It obeys the same variables if it is linked statically."""
_RUST_JEMALLOC = re.compile(r"_rjem_\w+")
_PREFIXED_JEMALLOC = re.compile(r"je_(?:malloc|calloc|realloc|free|aligned_alloc|posix_memalign|[mrsd]d?allocx)")
"""The public functions of a jemalloc that is built with the prefix ``je_``, as redis builds its own."""
_GLIBC = re.compile(r"(?:^|/)libc(?:\.so\.6|-2\.\d+\.so)$")
_MUSL = re.compile(r"(?:^|/)(?:ld-musl-[\w-]+|libc)\.so[\d.]*$")


def list_mapped_files(profile: Profile) -> frozenset[str]:
    """Return the mapped files whose code appears in the stacks of the process, or whose pages it touched."""
    # Modules in brackets, such as [kernel.kallsyms], are not files.
    modules = {frame.module for frame in profile.frames if frame.module and not frame.module.startswith("[")}
    kinds = profile.anatomy.kinds if profile.anatomy else ()
    files = modules | {kind.file for kind in kinds if kind.file}
    return frozenset(file.removesuffix(DELETED_SUFFIX) for file in files)


def _knows_files(profile: Profile) -> bool:
    """Return whether the profile contains the names of the touched files, which the kinds of its faults contain."""
    return profile.anatomy is not None and bool(profile.anatomy.kinds)


def identify_runtime(profile: Profile) -> Runtime | None:
    """Return the runtime that manages the heap; None if the process has none of :class:`Runtime`."""
    name, _ = find_runtime(list_mapped_files(profile)) or (None, "")
    if name in _RUNTIMES:
        return _RUNTIMES[name]
    return Runtime.GO if any(_GO_FUNCTION.fullmatch(frame.function) for frame in profile.frames) else None


def identify_allocator(profile: Profile) -> Allocator | None:
    """Return the malloc of the process: that of a separate library, one that is linked in, or the C library's.

    None if neither the C library is mapped nor a function of a malloc is known: the program is static, or has no
    malloc. If the files are unknown, glibc's malloc is assumed.
    """
    files = list_mapped_files(profile)
    for allocator, pattern in _ALLOCATOR_FILES.items():
        if any(pattern.search(file) for file in files):
            return allocator
    for allocator, pattern in _ALLOCATOR_FUNCTIONS.items():
        if _has_function(profile, pattern):
            return allocator
    if not _knows_files(profile) or any(_GLIBC.search(file) for file in files):
        return Allocator.GLIBC
    if any(_MUSL.search(file) for file in files):
        return Allocator.MUSL
    return Allocator.GLIBC if _has_function(profile, _STATIC_GLIBC_FUNCTION) else None


def find_jemalloc_variable(profile: Profile) -> str:
    """Return the name of the variable that configures the jemalloc of the process, which depends on its prefix."""
    if _has_function(profile, _RUST_JEMALLOC):
        return "_RJEM_MALLOC_CONF"
    return "JE_MALLOC_CONF" if _has_function(profile, _PREFIXED_JEMALLOC, in_library=False) else "MALLOC_CONF"


def is_allocator_frame(frame: Frame) -> bool:
    """Return whether a frame belongs to an allocator: to its library, or to one that is linked in."""
    module = frame.module.removesuffix(DELETED_SUFFIX)
    return any(pattern.search(module) for pattern in _ALLOCATOR_FILES.values()) or any(
        pattern.fullmatch(frame.function) for pattern in _ALLOCATOR_FUNCTIONS.values()
    )


def is_malloc_replaceable(profile: Profile) -> bool:
    """Return whether another malloc can be preloaded: the program loads the C library, and has no malloc linked in."""
    files = list_mapped_files(profile)
    loads_libc = not _knows_files(profile) or any(_GLIBC.search(file) or _MUSL.search(file) for file in files)
    has_linked_malloc = any(
        _has_function(profile, pattern, in_library=False) for pattern in _ALLOCATOR_FUNCTIONS.values()
    )
    return loads_libc and not has_linked_malloc


def _has_function(profile: Profile, functions: re.Pattern[str], *, in_library: bool = True) -> bool:
    """Return whether a frame of the process, outside of the kernel, is in one of the given functions.

    Parameters
    ----------
    in_library
        Whether functions of shared libraries count as well.
    """
    return any(
        functions.fullmatch(frame.function)
        for frame in profile.frames
        if not frame.module.startswith("[") and (in_library or ".so" not in frame.module)
    )
