"""How a fault's page was accessed: from error codes on x86, from instructions on aarch64, unknown elsewhere."""

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.contract.profile import Access
from runner.profile.fault_access import FaultAccess, Instruction, classify_error_code, classify_instruction

READ, WRITE = Access.READ, Access.WRITE
PROGRAM, KERNEL = 0x400010, 0xFFFF_8000_0800_0000
# As the GNU assembler writes them.
INSTRUCTIONS = {
    "str x1, [x0]": (0xF9000001, WRITE),
    "ldr x1, [x0]": (0xF9400001, READ),
    "stp x1, x2, [x0, #-16]!": (0xA9BF0801, WRITE),
    "ldp x1, x2, [x0], #16": (0xA8C10801, READ),
    "stp q0, q1, [x0]": (0xAD000400, WRITE),
    "ldp q0, q1, [x0]": (0xAD400400, READ),
    "stnp q0, q1, [x0]": (0xAC000400, WRITE),
    "ldnp q0, q1, [x0]": (0xAC400400, READ),
    "str q0, [x0]": (0x3D800000, WRITE),
    "ldr q0, [x0]": (0x3DC00000, READ),
    "str d0, [x0, x1]": (0xFC216800, WRITE),
    "ldr d0, [x0, x1]": (0xFC616800, READ),
    "stur w1, [x0, #-3]": (0xB81FD001, WRITE),
    "ldurb w1, [x0, #-3]": (0x385FD001, READ),
    "ldrsw x1, [x0, #4]": (0xB9800401, READ),
    "ldrsb w1, [x0]": (0x39C00001, READ),
    "sttr x1, [x0]": (0xF8000801, WRITE),
    "ldtr x1, [x0]": (0xF8400801, READ),
    "stxr w2, x1, [x0]": (0xC8027C01, WRITE),
    "ldxr x1, [x0]": (0xC85F7C01, READ),
    "stlxp w3, x1, x2, [x0]": (0xC8238801, WRITE),
    "ldaxp x1, x2, [x0]": (0xC87F8801, READ),
    "stlr x1, [x0]": (0xC89FFC01, WRITE),
    "ldar x1, [x0]": (0xC8DFFC01, READ),
    "cas x1, x2, [x0]": (0xC8A17C02, WRITE),
    "caspal x2, x3, x4, x5, [x0]": (0x4862FC04, WRITE),
    "swp x1, x2, [x0]": (0xF8218002, WRITE),
    "stset x1, [x0]": (0xF821301F, WRITE),
    "ldapr x1, [x0]": (0xF8BFC001, READ),
    "ldapurb w1, [x0, #1]": (0x19401001, READ),
    "stlur x1, [x0, #8]": (0xD9008001, WRITE),
    "ldraa x1, [x0]": (0xF8200401, READ),
    "ldr x1, 88": (0x58000001, READ),
    "ld1 {v0.16b}, [x0]": (0x4C407000, READ),
    "st1 {v0.16b, v1.16b}, [x0], #32": (0x4C9FA000, WRITE),
    "st4 {v0.s-v3.s}[1], [x0]": (0x0D20B000, WRITE),
    "ld1r {v0.8h}, [x0]": (0x4D40C400, READ),
    "dc zva, x0": (0xD50B7420, WRITE),
    "st1d {z0.d}, p0, [x0]": (0xE5E0E000, WRITE),
    "ld1d {z0.d}, p0/z, [x0]": (0xA5E0A000, READ),
    "str z0, [x0]": (0xE5804000, WRITE),
    "ldr z0, [x0]": (0x85804000, READ),
    "ld1w {z0.d}, p0/z, [x0, z1.d]": (0xC541C000, READ),
    "add x0, x1, x2": (0x8B020020, Access.UNKNOWN),
    "nop": (0xD503201F, Access.UNKNOWN),
    "b 0": (0x14000000, Access.UNKNOWN),
}


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_an_instruction_shows_how_it_accesses_memory(text: str) -> None:
    word, access = INSTRUCTIONS[text]
    assert classify_instruction(word) is access


def test_the_error_code_of_x86_distinguishes_accesses() -> None:
    assert [classify_error_code(code) for code in (4, 6, 7, 0x14)] == [READ, WRITE, WRITE, Access.INSTRUCTION]


def test_on_aarch64_the_instruction_is_read_from_its_file(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(struct.pack("<2I", 0xF9000001, 0xF9400001))
    arm = FaultAccess("aarch64")
    store, load, end = (Instruction(PROGRAM, "main", str(program), offset) for offset in (0, 4, 8))
    assert [arm.classify(None, place, is_fetch=False) for place in (store, load, end)] == [WRITE, READ, Access.UNKNOWN]
    assert arm.classify(None, store, is_fetch=True) is Access.INSTRUCTION
    assert arm.classify(None, Instruction(PROGRAM, "main"), is_fetch=False) is Access.UNKNOWN
    assert arm.classify(None, Instruction(PROGRAM, "main", str(tmp_path)), is_fetch=False) is Access.UNKNOWN


@pytest.mark.parametrize(
    ("function", "access"),
    [
        ("__arch_copy_to_user", WRITE),
        ("__arch_clear_user", WRITE),
        ("__arch_copy_from_user", READ),
        ("strncpy_from_user", READ),
        ("elf_load", Access.UNKNOWN),
    ],
)
def test_what_the_kernel_copies_is_known_by_its_function(function: str, access: Access) -> None:
    assert FaultAccess("aarch64").classify(None, Instruction(KERNEL, function), is_fetch=False) is access


def test_no_error_code_and_no_known_instruction_is_no_access(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(struct.pack("<I", 0xF9000001))
    store = Instruction(PROGRAM, "main", str(program))
    assert FaultAccess("x86_64").classify(None, store, is_fetch=False) is Access.UNKNOWN
    assert FaultAccess("riscv64").classify(None, store, is_fetch=True) is Access.UNKNOWN
    # The codes of another architecture have another meaning.
    assert FaultAccess("riscv64").classify(15, store, is_fetch=False) is Access.UNKNOWN


@given(st.integers(0, 2**32 - 1))
def test_every_word_has_an_access_or_none(word: int) -> None:
    assert classify_instruction(word) in {READ, WRITE, Access.UNKNOWN}
