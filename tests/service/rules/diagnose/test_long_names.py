"""Names and paths come from the programs of strangers: however long they are, they break no diagnosis."""

from itertools import product

import pytest

from runner.contract.diagnosis import DiagnosisRequest
from runner.contract.profile import (
    Access,
    Anatomy,
    FaultKind,
    Frame,
    Memory,
    Profile,
    Site,
    Stack,
    StackKind,
    StackProfile,
    Touch,
)
from service.rules.diagnose.diagnosis import diagnose_profile
from tests.service.profiles import profile

LABEL = ("d" * 99 + "/") * 40
CALLS = dict.fromkeys(("mmap", "munmap", "madvise", "brk", "mremap"), 90_000)
KERNEL = [
    Frame(function=name, module="[kernel.kallsyms]")
    for name in (
        "asm_exc_page_fault",
        "__x64_sys_munmap",
        "__x64_sys_madvise",
        "io_schedule",
        "rwsem_down_read_slowpath",
    )
]


def make_profile(memory: Memory, touch: Touch, faults: int) -> Profile:
    """Return a profile whose faults are all of one kind, and whose names are as long as a profile may hold."""
    own = Frame(function=LABEL, module=LABEL, file=LABEL[:3999], line=2**31)
    site = Site(frame=own, memory=memory, touch=touch, file=LABEL, faults=faults)
    anatomy = Anatomy(
        counted=faults,
        recorded=faults,
        pages=max(1, faults // 8),
        major=faults // 2,
        threads=1_000,
        by_memory={memory: faults},
        by_touch={touch: faults},
        by_access={Access.WRITE: faults},
        kinds=(FaultKind(memory=memory, touch=touch, file=LABEL, faults=faults),),
        sites=(site,),
        major_sites=(site,),
    )
    stacks = tuple(Stack(frames=(0, 0, 0, 0, index), weight=200) for index in range(1, 1 + len(KERNEL)))
    on_cpu, faulting, off_cpu = (
        StackProfile(kind=kind, samples=1_000, period=1, total=1_000, call_graph="dwarf", stacks=stacks)
        for kind in (StackKind.ON_CPU, StackKind.FAULTS, StackKind.OFF_CPU)
    )
    frames = (own, *KERNEL)
    return profile(anatomy, frames=frames, on_cpu=on_cpu, faults=faulting, off_cpu=off_cpu, calls=CALLS)


@pytest.mark.parametrize(("memory", "touch"), list(product(Memory, Touch)))
def test_names_as_long_as_a_profile_may_hold_can_be_diagnosed(memory: Memory, touch: Touch) -> None:
    after = make_profile(memory, touch, 90_000)
    assert diagnose_profile(DiagnosisRequest(profile=after)).evidence
    before = make_profile(Memory.HEAP, Touch.FIRST, 9_000)
    assert diagnose_profile(DiagnosisRequest(profile=after, before=before)).difference is not None
