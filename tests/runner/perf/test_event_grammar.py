"""Which events a workload file may name."""

import pytest

from runner.perf.counted_events import STANDARD_EVENTS
from runner.perf.event_grammar import is_allowed


@pytest.mark.parametrize(
    "event",
    [
        *STANDARD_EVENTS,
        *("minor-faults:u", "L1-dcache-load-misses", "mem_load_retired.l3_miss:pp", "r01c4", "cpu_core/cycles/"),
        *("cpu/event=0x3c,umask=0x1/u", "kmem:mm_page_alloc", "exceptions:page_fault_user", "syscalls:sys_enter_mmap"),
        *("dtlb_load_misses.walk_completed", "mem-loads", "ref-cycles"),
    ],
)
def test_counters_are_allowed(event: str) -> None:
    assert is_allowed(event)


@pytest.mark.parametrize(
    "event",
    [
        *("/tmp/evil.o", "evil.c", "evil.o", "./evil.bpf", "evil.O", "a.c:u", "../x", "@file"),
        *("probe:sys_open", "probe_libc:malloc", "sdt_libc:setjmp", "uprobe/bin=/bin/sh/", "uprobes:x", "kprobe/x/"),
        *("mem:0x1000:rw", "bpf:x", "bpf-output", "bpf_prog:x", "msr/tsc/", "power/energy-pkg/", "uncore_imc/x/"),
        *("cycles,evil.o", "{cycles,instructions}", "cycles -a", "--all", "-a", "", "a\nb", "cpu/driver-config=@x/"),
        *("cpu/config=0x1,aux-output/", "x" * 200, "cycles\0", "kmem:mm_page_alloc --filter x"),
    ],
)
def test_all_else_is_refused(event: str) -> None:
    assert not is_allowed(event)
