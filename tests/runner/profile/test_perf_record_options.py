"""What perf records of a program: all its memory calls with two tracepoints."""

from runner.profile.perf_record_options import build_calls_options, build_fault_stack_options, build_faults_options
from runner.profile.recorded_system_calls import MEMORY_CALLS, find_call_numbers

NUMBERS = {11: "munmap", 25: "mremap"}


def test_all_calls_are_recorded_with_two_tracepoints_and_a_filter_each() -> None:
    selection = ("-e", "raw_syscalls:sys_enter", "--filter", "id == 11 || id == 25")
    selection += ("-e", "raw_syscalls:sys_exit", "--filter", "id == 25")
    assert build_calls_options(NUMBERS) == ("-c", "1", *selection)
    assert build_faults_options(1, error_codes=True, call_numbers=NUMBERS)[-len(selection) :] == selection
    stack_options = build_fault_stack_options(2, "dwarf", NUMBERS)
    assert stack_options[stack_options.index("raw_syscalls:sys_enter") - 1 :][: len(selection)] == selection
    assert "page-faults/period=2,name=page-faults/" in stack_options


def test_calls_are_not_recorded_with_a_sample_of_the_faults_or_without_their_numbers() -> None:
    for options in (
        build_faults_options(2, error_codes=False, call_numbers=NUMBERS),
        build_faults_options(1, error_codes=False),
        build_fault_stack_options(1, "dwarf"),
    ):
        assert not any("syscalls" in word or word == "--filter" for word in options)


def test_the_numbers_of_calls_are_those_of_the_architecture() -> None:
    x86_numbers, arm_numbers = find_call_numbers("x86_64"), find_call_numbers("aarch64")
    assert (x86_numbers[11], arm_numbers[215]) == ("munmap", "munmap")
    assert set(x86_numbers.values()) == set(arm_numbers.values()) == set(MEMORY_CALLS)
    assert find_call_numbers("vax") == {}
