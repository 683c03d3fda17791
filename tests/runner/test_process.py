import ctypes
import resource
import subprocess
from pathlib import Path

import pytest

from runner.process import BASE_VARIABLES, STACK_LIMIT, ProcessState, can_fix_layout


def first_line_of(file: str, state: ProcessState) -> str:
    with state.applied():
        return subprocess.run(["cat", file], capture_output=True, text=True, check=True, env=state.environment).stdout


def test_layout_is_the_same_each_time() -> None:
    if not can_fix_layout():
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


def test_the_runner_is_as_before_afterwards() -> None:
    def own_state() -> tuple[int, tuple[int, int], int]:
        libc = ctypes.CDLL(None)
        return libc.personality(0xFFFFFFFF), resource.getrlimit(resource.RLIMIT_STACK), libc.prctl(42, 0, 0, 0, 0)

    before = own_state()
    with pytest.raises(RuntimeError), ProcessState(huge_pages="never").applied():
        assert own_state() != before
        raise RuntimeError
    assert own_state() == before


def test_stack_limit_is_fixed() -> None:
    limits = first_line_of("/proc/self/limits", ProcessState())
    assert f"Max stack size            {STACK_LIMIT}" in limits


def test_environment_is_the_base_and_what_is_added() -> None:
    assert ProcessState().environment == BASE_VARIABLES
    assert ProcessState(variables={"X": "1"}).environment == {**BASE_VARIABLES, "X": "1"}
