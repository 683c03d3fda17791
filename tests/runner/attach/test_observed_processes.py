"""Which processes are observed while others start, end, and take over their numbers."""

import os

import pytest

from runner.attach import observed_processes
from runner.attach.observed_processes import ObservedProcesses
from runner.attach.process_choice import ProcessChoice
from runner.attach.process_table import LiveProcess
from runner.system.tree import Tree


def observe_this(
    monkeypatch: pytest.MonkeyPatch, ticks: dict[int, int], children: dict[int, set[int]]
) -> ObservedProcesses:
    """Return the observed processes of a host with the given processes; the first of them is chosen."""
    root = next(iter(ticks))
    monkeypatch.setattr(observed_processes, "get_start_ticks", ticks.get)
    monkeypatch.setattr(observed_processes, "list_children", lambda pid: children.get(pid, set()))
    return ObservedProcesses(ProcessChoice(LiveProcess(root, 1, 5, "server"), (root,)), Tree())


def test_a_stranger_with_the_number_of_an_ended_process_is_not_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = os.getpid()  # a number that a process has
    ticks = {pid: 5}
    processes = observe_this(monkeypatch, ticks, {})
    assert list(processes.list_living_processes()) == [pid]
    ticks[pid] = 9
    assert processes.have_ended()
    assert not processes.list_living_processes()


def test_a_child_with_the_number_of_an_ended_one_is_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = {70_001: 5, 70_002: 6}
    processes = observe_this(monkeypatch, ticks, {70_001: {70_002}})
    processes.refresh()
    assert list(processes.list_living_processes()) == [70_001, 70_002]
    ticks[70_002] = 9
    processes.refresh()
    assert list(processes.list_living_processes()) == [70_001, 70_002]
    assert sorted(processes.list_all_pids()) == [70_001, 70_002]
