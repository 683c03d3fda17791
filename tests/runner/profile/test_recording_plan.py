"""What perf records of a program: few events of one that is short."""

from runner.profile.recording_plan import ExpectedCounts, build_fault_stack_options, build_faults_options, select_calls


def test_of_a_short_program_only_the_common_calls_are_recorded() -> None:
    short, long = (select_calls(ExpectedCounts(faults=100, switches=1, cpu_seconds=seconds)) for seconds in (0.01, 0.1))
    assert set(short) < set(long)
    assert {"munmap", "madvise", "brk"} <= set(short)
    assert "mprotect" in set(long) - set(short)
    options = build_faults_options(1, tracepoints=True, error_codes=False, calls=short)
    assert sum("sys_enter" in word for word in options) == len(short)
    stack_options = build_fault_stack_options(2, "dwarf", short)
    assert "page-faults/period=2,name=page-faults/" in stack_options
    assert sum("sys_enter" in word for word in stack_options) == len(short)
    assert not any("sys_enter" in word for word in build_fault_stack_options(2, "dwarf"))
