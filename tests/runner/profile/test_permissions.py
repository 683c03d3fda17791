"""What the kernel forbids is said, with the setting that allows it; and what is planned keeps profiles small."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.profile.elf import read_segments
from runner.profile.perf_record_options import (
    MAX_RECORDED_FAULTS,
    MAX_STACKS,
    ExpectedCounts,
    build_faults_options,
    compute_clock_period,
    compute_faults_period,
    compute_stacks_period,
)
from runner.profile.permissions import detect_recording_permissions
from runner.profile.stack_unwinding import choose_call_graph
from runner.system.tree import Tree

ID = "sys/kernel/tracing/events/syscalls/sys_enter_mmap/id"
EXCEPTION_IDS = [f"sys/kernel/tracing/events/exceptions/page_fault_{mode}/id" for mode in ("user", "kernel")]
PARANOID = "proc/sys/kernel/perf_event_paranoid"


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    settings = {PARANOID: "2", "proc/sys/kernel/kptr_restrict": "0"}
    for name, text in {**dict.fromkeys((ID, *EXCEPTION_IDS), "700"), **settings}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Tree(tmp_path)


def test_root_may_record_all(tree: Tree) -> None:
    found = detect_recording_permissions(tree, root=True, machine="x86_64")
    assert (found.tracepoints, found.error_codes, found.kernel, found.remarks) == (True, True, True, ())


def test_aarch64_needs_no_tracepoints_of_page_faults(tree: Tree) -> None:
    for name in EXCEPTION_IDS:
        tree.path(name).unlink()
    found = detect_recording_permissions(tree, root=True, machine="aarch64")
    assert (found.tracepoints, found.error_codes, found.kernel, found.remarks) == (True, False, True, ())
    assert "reads and writes" not in detect_recording_permissions(tree, root=False, machine="aarch64").remarks[1]


@pytest.mark.parametrize("machine", ["x86_64", "riscv64"])
def test_elsewhere_a_kernel_without_them_is_named(tree: Tree, machine: str) -> None:
    for name in EXCEPTION_IDS:
        tree.path(name).unlink()
    found = detect_recording_permissions(tree, root=True, machine=machine)
    assert found.tracepoints
    assert not found.error_codes
    assert found.remarks == ("this kernel does not trace page faults, so reads and writes are not distinguished",)


def test_error_codes_of_an_unknown_architecture_are_not_recorded(tree: Tree) -> None:
    assert not detect_recording_permissions(tree, root=True, machine="riscv64").error_codes


def test_a_user_is_told_what_would_let_him(tree: Tree) -> None:
    found = detect_recording_permissions(tree, root=False)
    assert not found.tracepoints
    assert not found.kernel
    assert "kernel.perf_event_paranoid=1" in found.remarks[0]
    assert "kernel.perf_event_paranoid=-1" in found.remarks[1]


def test_without_tracefs_mounting_it_is_the_remedy(tree: Tree) -> None:
    tree.path(ID).unlink()
    found = detect_recording_permissions(tree, root=True)
    assert not found.tracepoints
    assert "mount -t tracefs" in found.remarks[0]


def test_hidden_kernel_symbols_are_told(tree: Tree) -> None:
    tree.path("proc/sys/kernel/kptr_restrict").write_text("2")
    assert "kptr_restrict" in detect_recording_permissions(tree, root=True).remarks[0]


@given(st.integers(0, 10**9), st.sampled_from(["fp", "dwarf"]))
def test_no_profile_records_more_than_its_share(number: int, graph: str) -> None:
    expected = ExpectedCounts(faults=number, switches=0, cpu_seconds=number / 1e6)
    assert number / compute_faults_period(expected) <= MAX_RECORDED_FAULTS
    assert number / compute_stacks_period(number, MAX_STACKS[graph]) <= MAX_STACKS[graph]
    assert expected.cpu_seconds * 1e9 / compute_clock_period(expected, graph) <= MAX_STACKS[graph]


def test_up_to_two_million_faults_are_recorded_each() -> None:
    assert compute_faults_period(ExpectedCounts(MAX_RECORDED_FAULTS, 0, 1)) == 1
    assert "exceptions:page_fault_user" in build_faults_options(1, error_codes=True)
    assert not any("exceptions" in word for word in build_faults_options(1, error_codes=False))


def test_a_file_that_is_no_program_has_no_segments(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert read_segments(script) == []
    assert choose_call_graph(script) == "fp"
    assert choose_call_graph(tmp_path / "nothing") == "fp"


@given(st.binary(max_size=200))
def test_no_file_breaks_the_reader(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "elf"
    file.write_bytes(b"\x7fELF\x02\x01" + content)
    read_segments(file)
