"""Identifies the runtime and the allocator of a profiled process, so that remedies fit the program."""

from __future__ import annotations

import re
from enum import StrEnum

from runner.contract.profile import Frame, Profile
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
    Allocator.MIMALLOC: re.compile(r"libmimalloc\.so[\d.]*$"),
}
_ALLOCATOR_FUNCTIONS = {
    Allocator.JEMALLOC: re.compile(r"_?(?:rje|je)_\w+|(?:arena|extent|ehooks|pac|hpa)_\w*(?:decay|alloc|purge)\w*"),
    Allocator.TCMALLOC: re.compile(r"tcmalloc::.*|TCMalloc_\w+"),
    Allocator.MIMALLOC: re.compile(r"_?mi_\w+"),
}
_GLIBC = re.compile(r"(?:^|/)libc(?:\.so\.6|-2\.\d+\.so)$")
_MUSL = re.compile(r"(?:^|/)(?:ld-musl-[\w-]+|libc)\.so[\d.]*$")


def list_mapped_files(profile: Profile) -> frozenset[str]:
    """Return the files mapped by the process that it executed or touched."""
    # Modules in brackets, such as [kernel.kallsyms], are not files.
    modules = {frame.module for frame in profile.frames if frame.module and not frame.module.startswith("[")}
    kinds = profile.anatomy.kinds if profile.anatomy else ()
    return frozenset(modules | {kind.file for kind in kinds if kind.file})


def _knows_files(profile: Profile) -> bool:
    """Return whether the profile contains the names of the touched files."""
    return profile.anatomy is not None and bool(profile.anatomy.kinds)


def identify_runtime(profile: Profile) -> Runtime | None:
    """Return the runtime that manages the heap; None if the process has none of :class:`Runtime`."""
    runtime = find_runtime(list_mapped_files(profile))
    if runtime and runtime[0] in _RUNTIMES:
        return _RUNTIMES[runtime[0]]
    return Runtime.GO if any(_GO_FUNCTION.fullmatch(frame.function) for frame in profile.frames) else None


def identify_allocator(profile: Profile) -> Allocator | None:
    """Return the malloc of the process: that of a separate library, one that is linked in, or the C library's.

    None if the C library is not mapped: the program is static, or has no malloc. If the files are unknown, glibc's
    malloc is assumed.
    """
    files = list_mapped_files(profile)
    for allocator, pattern in _ALLOCATOR_FILES.items():
        if any(pattern.search(file) for file in files):
            return allocator
    for allocator, pattern in _ALLOCATOR_FUNCTIONS.items():
        if any(pattern.fullmatch(frame.function) for frame in profile.frames):
            return allocator
    if not _knows_files(profile) or any(_GLIBC.search(file) for file in files):
        return Allocator.GLIBC
    return Allocator.MUSL if any(_MUSL.search(file) for file in files) else None


def is_allocator_frame(frame: Frame) -> bool:
    """Return whether a frame belongs to an allocator: to its library, or to one that is linked in."""
    return any(pattern.search(frame.module) for pattern in _ALLOCATOR_FILES.values()) or any(
        pattern.fullmatch(frame.function) for pattern in _ALLOCATOR_FUNCTIONS.values()
    )


def is_malloc_replaceable(profile: Profile) -> bool:
    """Return whether another malloc can be preloaded: the program loads the C library, and has no malloc linked in."""
    files = list_mapped_files(profile)
    loads_libc = not _knows_files(profile) or any(_GLIBC.search(file) or _MUSL.search(file) for file in files)
    has_linked_malloc = any(
        pattern.fullmatch(frame.function) and ".so" not in frame.module
        for pattern in _ALLOCATOR_FUNCTIONS.values()
        for frame in profile.frames
    )
    return loads_libc and not has_linked_malloc
