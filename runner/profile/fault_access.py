"""Determines how a program accessed the page of a fault: from the error code on x86, or from the A64 instruction."""

import re
import struct
from collections.abc import Callable

from msgspec import Struct, field

from runner.contract.profile import Access
from runner.system.regular_file import open_regular

EXCEPTION_TRACEPOINTS = ("exceptions:page_fault_user", "exceptions:page_fault_kernel")
"""Tracepoints with the error code of each fault. Only on x86 are these the error codes below."""
_X86_MACHINES = frozenset({"x86_64", "i386", "i486", "i586", "i686"})
_A64_MACHINES = frozenset({"aarch64", "arm64"})
_PRESENT_FLAG, _WRITE_FLAG, _FETCH_FLAG = 1, 2, 16
"""The bits of a page fault's error code on x86."""
_FIRST_KERNEL_ADDRESS = 1 << 63
"""The lowest address that belongs to the kernel on 64-bit processors."""
_KERNEL_WRITES = re.compile(r"(?:raw)?_*(?:arch_)?(?:copy_to_user|clear_user|put_user)\w*")
_KERNEL_READS = re.compile(r"(?:raw)?_*(?:arch_)?(?:copy_from_user|get_user)\w*|strn(?:cpy_from|len)_user")
_MAX_CACHED_INSTRUCTIONS = 100_000


def has_error_codes(machine: str) -> bool:
    """Return whether the error codes in the tracepoints of page faults can be interpreted on an architecture."""
    return machine in _X86_MACHINES


def has_known_instructions(machine: str) -> bool:
    """Return whether this module can tell from an architecture's instructions how they access memory."""
    return machine in _A64_MACHINES


class Instruction(Struct, frozen=True):
    """The place of an instruction that faulted: address, function as perf names it, and file with offset, if any."""

    address: int
    function: str
    file: str = ""
    offset: int = 0


class FaultAccess(Struct):
    """Determines how memory was accessed, for one architecture.

    Attributes
    ----------
    machine
        The architecture, as ``uname -m`` names it.
    read
        Returns the instruction word at an offset in a file, or None if it cannot be read.
    """

    machine: str
    read: Callable[[str, int], int | None] = field(default_factory=lambda: read_instruction)
    _words: dict[tuple[str, int], int | None] = field(default_factory=dict)

    def classify(self, error_code: int | None, instruction: Instruction, *, is_fetch: bool) -> Access:
        """Return the access of a fault; unknown if neither the error code nor the instruction shows it.

        Parameters
        ----------
        error_code
            The error code of the processor; None if it was not recorded.
        instruction
            The instruction that accessed the memory. Of one in the kernel, the name of the function decides.
        is_fetch
            Whether the address that faulted is that of the instruction itself.
        """
        if error_code is not None:
            return classify_error_code(error_code) if has_error_codes(self.machine) else Access.UNKNOWN
        if not has_known_instructions(self.machine):
            return Access.UNKNOWN
        if is_fetch:
            return Access.INSTRUCTION
        if instruction.address >= _FIRST_KERNEL_ADDRESS:
            return _classify_kernel_function(instruction.function)
        word = self._read_instruction(instruction.file, instruction.offset) if instruction.file else None
        return Access.UNKNOWN if word is None else classify_instruction(word)

    def is_present(self, error_code: int | None) -> bool:
        """Return whether the page was present and only the access was not allowed, as at a copy on write."""
        return error_code is not None and has_error_codes(self.machine) and bool(error_code & _PRESENT_FLAG)

    def is_read(self, error_code: int | None) -> bool:
        """Return whether the error code shows that the access was a read."""
        return (
            error_code is not None and has_error_codes(self.machine) and classify_error_code(error_code) is Access.READ
        )

    def _read_instruction(self, file: str, offset: int) -> int | None:
        """Return the word of an instruction in a file; None if it cannot be read, or the cache of words is full."""
        key = file, offset
        if key not in self._words and len(self._words) < _MAX_CACHED_INSTRUCTIONS:
            self._words[key] = self.read(file, offset)
        return self._words.get(key)


def read_instruction(file: str, offset: int) -> int | None:
    """Return the A64 instruction at an offset in an untrusted file; None if it cannot be read."""
    try:
        with open_regular(file) as stream:
            stream.seek(offset)
            return int(struct.unpack("<I", stream.read(4))[0])
    except (OSError, OverflowError, ValueError, struct.error):  # too large an offset, or beyond the end of the file
        return None


def classify_error_code(error_code: int) -> Access:
    """Return the kind of access from the error code of a page fault on x86."""
    if error_code & _FETCH_FLAG:
        return Access.INSTRUCTION
    return Access.WRITE if error_code & _WRITE_FLAG else Access.READ


def classify_instruction(word: int) -> Access:
    """Return how an A64 instruction accesses memory; one that reads and writes, such as a swap, counts as a write.

    Source: Arm Architecture Reference Manual for A-profile, C4.1, "Loads and Stores" and "SVE encodings".
    """
    if word & 0xFFFFFFE0 == 0xD50B7420:
        return Access.WRITE  # DC ZVA, with which memset clears a block.
    for mask, value, access in _INSTRUCTION_PATTERNS:
        if word & mask == value:
            return access
    return Access.UNKNOWN


def _classify_kernel_function(function: str) -> Access:
    if _KERNEL_WRITES.fullmatch(function):
        return Access.WRITE
    return Access.READ if _KERNEL_READS.fullmatch(function) else Access.UNKNOWN


_INSTRUCTION_PATTERNS = (
    # Exclusive and ordered. CASP and CAS come first, because the patterns of loads and stores match them too.
    (0xBFA00000, 0x08200000, Access.WRITE),
    (0x3FA00000, 0x08A00000, Access.WRITE),
    (0x3F400000, 0x08000000, Access.WRITE),
    (0x3F400000, 0x08400000, Access.READ),
    # Vectors: multiple structures, or a single one.
    (0xBE400000, 0x0C000000, Access.WRITE),
    (0xBE400000, 0x0C400000, Access.READ),
    # Memory tags; then ordered accesses with an offset, and instructions that copy or set memory.
    (0xFF200000, 0xD9200000, Access.UNKNOWN),
    (0x3FE00C00, 0x19000000, Access.WRITE),
    (0x3F200C00, 0x19000000, Access.READ),
    # Literals.
    (0x3B000000, 0x18000000, Access.READ),
    # Pairs.
    (0x3A400000, 0x28000000, Access.WRITE),
    (0x3A400000, 0x28400000, Access.READ),
    # Atomic: LDAPR only loads.
    (0x3FE0FC00, 0x38A0C000, Access.READ),
    (0x3B200C00, 0x38200000, Access.WRITE),
    # With an authenticated pointer.
    (0xFF200400, 0xF8200400, Access.READ),
    # One register: bit 22 means a load for vectors, and bit 22 or 23 for other registers.
    (0x3E400000, 0x3C000000, Access.WRITE),
    (0x3E400000, 0x3C400000, Access.READ),
    (0x3EC00000, 0x38000000, Access.WRITE),
    (0x3E000000, 0x38000000, Access.READ),
    # Scalable vectors.
    (0xFE000000, 0xE4000000, Access.WRITE),
    (0xFE000000, 0x84000000, Access.READ),
    (0xFE000000, 0xA4000000, Access.READ),
    (0xFE000000, 0xC4000000, Access.READ),
)
"""Kinds of loads and stores: a mask, the value of its bits, and the access. The first match counts."""
