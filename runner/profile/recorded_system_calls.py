"""The system calls that change a program's memory: their arguments, and their numbers on each architecture."""

from msgspec import Struct

FILE_CALLS = ("ftruncate", "fallocate", "msync", "fsync", "fdatasync")
"""The system calls after which a page of a shared file that was present can fault again: they take it away, or
write-protect it until its content is written to the file."""
COMMON_CALLS = ("mmap", "munmap", "madvise", "brk", "mremap")
"""The system calls that allocate or release memory."""
ENTRY_PREFIX, MREMAP_EXIT = "syscalls:sys_enter_", "syscalls:sys_exit_mremap"
"""The names of the events of a call: those of its own tracepoints, however it was recorded."""
RAW_ENTRY, RAW_EXIT = "raw_syscalls:sys_enter", "raw_syscalls:sys_exit"
"""The tracepoints of all system calls. perf needs 50 ms to attach to a tracepoint, so these two with a filter start
faster than one for each call."""
_X86_MACHINE = "x86_64"
_GENERIC_MACHINES = frozenset({"aarch64", "arm64", "riscv64", "loongarch64"})
"""The architectures that number system calls as in ``asm-generic/unistd.h``."""


class SystemCall(Struct, frozen=True):
    """A system call: the names of its arguments in its tracepoint, and its numbers.

    Attributes
    ----------
    arguments
        The names of the first arguments, in order; further ones are not needed.
    x86_number, generic_number
        Its number on x86-64, and on the architectures that share the kernel's generic numbers, such as A64.
    """

    arguments: tuple[str, ...]
    x86_number: int
    generic_number: int


MEMORY_CALLS = {
    "mmap": SystemCall(("addr", "len", "prot", "flags"), 9, 222),
    "munmap": SystemCall(("addr", "len"), 11, 215),
    "madvise": SystemCall(("start", "len_in", "behavior"), 28, 233),
    "brk": SystemCall(("brk",), 12, 214),
    "mremap": SystemCall(("addr", "old_len", "new_len", "flags"), 25, 216),
    "mprotect": SystemCall(("start", "len", "prot"), 10, 226),
    "mlock": SystemCall(("start", "len"), 149, 228),
    "mlock2": SystemCall(("start", "len", "flags"), 325, 284),
    "mlockall": SystemCall(("flags",), 151, 230),
    "prctl": SystemCall(("option", "arg2"), 157, 167),
    "ftruncate": SystemCall(("fd", "length"), 77, 46),
    "fallocate": SystemCall(("fd", "mode", "offset", "len"), 285, 47),
    "msync": SystemCall(("start", "len", "flags"), 26, 227),
    "fsync": SystemCall(("fd",), 74, 82),
    "fdatasync": SystemCall(("fd",), 75, 83),
}
"""All system calls that are recorded: those that allocate, release or protect memory, populate it without faults,
forbid huge pages, or take pages from a shared file."""


def find_call_numbers(machine: str) -> dict[int, str]:
    """Return the names of the calls by their numbers on an architecture (``uname -m``); empty if these are unknown."""
    if machine == _X86_MACHINE:
        return {call.x86_number: name for name, call in MEMORY_CALLS.items()}
    if machine in _GENERIC_MACHINES:
        return {call.generic_number: name for name, call in MEMORY_CALLS.items()}
    return {}
