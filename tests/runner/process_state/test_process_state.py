"""The whole state: what a program that is started in it finds, and that the runner is as before afterwards."""

import os
import resource
import subprocess
from pathlib import Path

import pytest

from runner.execution.process_variables import PROCESS_VARIABLES
from runner.process_state import system_calls
from runner.process_state.address_layout import Layout
from runner.process_state.process_attribute import can_apply
from runner.process_state.process_state import ProcessState
from runner.process_state.stack_limit import STACK_LIMIT_BYTES, StackLimit


def first_line_of(file: str, state: ProcessState) -> str:
    with state.apply():
        return subprocess.run(["cat", file], capture_output=True, text=True, check=True, env=state.environment).stdout


def test_layout_is_the_same_each_time() -> None:
    if not can_apply(Layout()):
        pytest.skip("address randomisation cannot be switched off here")
    maps = {first_line_of("/proc/self/maps", ProcessState()) for _ in range(3)}
    assert len(maps) == 1


def test_layout_is_random_without_the_state() -> None:
    if Path("/proc/sys/kernel/randomize_va_space").read_text().strip() == "0":
        pytest.skip("this machine does not randomise addresses at all")
    maps = {subprocess.run(["cat", "/proc/self/maps"], capture_output=True, check=True).stdout for _ in range(3)}
    assert len(maps) == 3


def test_huge_pages_are_taken_away_from_the_process_only() -> None:
    status = first_line_of("/proc/self/status", ProcessState(huge_pages="never"))
    line = next((line for line in status.splitlines() if line.startswith("THP_enabled")), None)
    if line is None:
        pytest.skip("this kernel does not say whether a process has huge pages")
    assert line.split()[1] == "0"
    assert "THP_enabled:\t1" in first_line_of("/proc/self/status", ProcessState(huge_pages="host"))


def own_state() -> tuple[object, ...]:
    mask = os.umask(0o22)
    os.umask(mask)
    return (
        system_calls.get_personality(),
        system_calls.get_huge_page_refusal(),
        resource.getrlimit(resource.RLIMIT_STACK),
        os.getpriority(os.PRIO_PROCESS, 0),
        os.sched_getaffinity(0),
        mask,
    )


def test_the_runner_is_as_before_afterwards() -> None:
    cpu = min(os.sched_getaffinity(0))
    before = own_state()
    with pytest.raises(RuntimeError), ProcessState(huge_pages="never", cpus=frozenset({cpu})).apply():
        assert own_state() != before
        raise RuntimeError
    assert own_state() == before


def test_one_attribute_that_cannot_be_undone_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    before = own_state()
    real = StackLimit.undo

    def fail(self: StackLimit) -> None:
        real(self)
        raise OSError

    monkeypatch.setattr(StackLimit, "undo", fail)
    with pytest.raises(OSError), ProcessState(huge_pages="never").apply():  # noqa: PT011
        pass
    assert own_state() == before


def test_what_this_host_forbids_is_told_and_the_rest_is_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(flags: int) -> None:
        raise PermissionError

    if system_calls.get_personality() & system_calls.ADDR_NO_RANDOMIZE:
        pytest.skip("this test runs without address randomisation")
    monkeypatch.setattr(system_calls, "set_personality", forbidden)
    state = ProcessState(huge_pages="never", cpus=frozenset({99_999}))
    layout, cpus = state.list_remarks()
    assert layout.startswith("process.aslr is on, not off: in a container: docker run --security-opt")
    assert "not 99999: choose processors that this process may use" in cpus
    settings = state.read_settings()
    assert (settings["process.aslr"], settings["process.huge_pages"]) == ("on", "never")


def test_nothing_is_told_where_all_is_well() -> None:
    if not can_apply(Layout()):
        pytest.skip("address randomisation cannot be switched off here")
    assert ProcessState(huge_pages="never").list_remarks() == ()


def test_stack_limit_is_fixed() -> None:
    limits = first_line_of("/proc/self/limits", ProcessState())
    assert f"Max stack size            {STACK_LIMIT_BYTES}" in limits


def test_the_memory_policy_of_the_caller_does_not_reach_the_program() -> None:
    assert ProcessState().read_settings()["process.numa_policy"] == "default"
    bound = system_calls.NodePolicy(2, b"\1")  # MPOL_BIND to node 0
    try:
        system_calls.set_memory_policy(bound)
    except OSError:
        pytest.skip("this host does not let us set a memory policy")
    try:
        policies = first_line_of("/proc/self/numa_maps", ProcessState())
        assert system_calls.get_memory_policy().mode == bound.mode
    finally:
        system_calls.set_memory_policy(system_calls.NodePolicy(0, b""))
    assert {line.split()[1] for line in policies.splitlines()} == {"default"}


def test_environment_is_the_base_and_what_is_added() -> None:
    assert ProcessState().environment == PROCESS_VARIABLES
    assert ProcessState(variables={"X": "1"}).environment == {**PROCESS_VARIABLES, "X": "1"}
