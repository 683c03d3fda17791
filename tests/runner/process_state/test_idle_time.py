import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runner.process_state.idle_time import has_idle_time, switch_to_idle_time, use_idle_time
from runner.system.tree import Tree

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def make_host(folder: Path, load: float, capabilities: str = "000001ffffffffff") -> Tree:
    """Return a host with a load per processor, on which this process has capabilities."""
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/loadavg").write_text(f"{load * (os.cpu_count() or 1):.2f} 0.10 0.10 1/200 4711\n")
    (folder / "proc/self/status").write_text(f"Name:\tpython\nCapEff:\t{capabilities}\n")
    return Tree(folder)


def get_policy() -> int:
    return os.sched_getscheduler(0)


@needs_root
def test_a_thread_uses_idle_time_only_within_the_context(tmp_path: Path) -> None:
    host = make_host(tmp_path, 0.5)
    before = get_policy()
    with use_idle_time(host):
        assert get_policy() == os.SCHED_IDLE
    assert get_policy() == before


@needs_root
def test_an_error_within_the_context_restores_the_priority(tmp_path: Path) -> None:
    before = get_policy()
    with pytest.raises(KeyError), use_idle_time(make_host(tmp_path, 0.5)):
        raise KeyError
    assert get_policy() == before


@pytest.mark.parametrize(("load", "capabilities"), [(1.0, "000001ffffffffff"), (0.5, "0"), (0.5, "unreadable")])
def test_a_busy_host_or_a_missing_right_changes_nothing(tmp_path: Path, load: float, capabilities: str) -> None:
    before = get_policy()
    with use_idle_time(make_host(tmp_path, load, capabilities)):
        assert get_policy() == before


@pytest.mark.parametrize(("load", "is_idle"), [(0.5, True), (1.0, False)])
def test_a_thread_can_switch_to_idle_time_for_good_unless_the_host_is_busy(
    tmp_path: Path, load: float, is_idle: bool
) -> None:
    host = make_host(tmp_path, load)

    def try_it() -> tuple[bool, int]:
        return switch_to_idle_time(host), get_policy()

    with ThreadPoolExecutor(1) as executor:  # a thread of its own, because an ordinary user cannot undo it
        assert executor.submit(try_it).result() == (is_idle, os.SCHED_IDLE if is_idle else get_policy())


def test_a_host_whose_load_is_unknown_counts_as_busy(tmp_path: Path) -> None:
    assert not has_idle_time(Tree(tmp_path))
