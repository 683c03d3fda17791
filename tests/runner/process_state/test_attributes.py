"""Each attribute: what it shows of made-up machines, and apply and undo on this one."""

import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.process_state import system_calls
from runner.process_state.address_layout import Layout
from runner.process_state.affinity import Affinity
from runner.process_state.huge_pages import HugePages
from runner.process_state.memory_policy import MemoryPolicy
from runner.process_state.niceness import Niceness, lower_priority
from runner.process_state.process_attribute import Attribute
from runner.process_state.stack_limit import StackLimit
from runner.process_state.umask import FileMask
from runner.system.cpu_list import parse_cpus
from runner.system.tree import Tree


def machine(root: Path, **files: str) -> Tree:
    for name, text in files.items():
        file = root / "proc" / name.replace("__", "/").replace("thread_self", "thread-self")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Tree(root)


def some_cpu() -> Affinity:
    return Affinity(frozenset({max(os.sched_getaffinity(0))}))


STATUS = "Name:\tpython\nUmask:\t0077\nCpus_allowed_list:\t2-3,8\n"
LIMITS = "Limit  Soft Limit  Hard Limit  Units\nMax stack size            {}              unlimited            bytes\n"
STAT = "4711 (odd) name) (x) S 1 1 1 0 -1 4194560 5 0 0 0 1 2 0 0 20 {} 1 0 100\n"


@pytest.mark.parametrize(
    ("files", "make", "shown"),
    [
        ({"sys__kernel__randomize_va_space": "0\n"}, Layout, "off"),
        ({"self__limits": LIMITS.format(16384)}, lambda tree: StackLimit(tree=tree), "16384"),
        ({"self__limits": LIMITS.format("unlimited")}, lambda tree: StackLimit(tree=tree), "unlimited"),
        ({"self__status": STATUS}, FileMask, "0077"),
        ({"thread_self__stat": STAT.format(19)}, lambda tree: Niceness(tree=tree), "19"),
        ({"thread_self__stat": STAT.format(-5)}, lambda tree: Niceness(tree=tree), "-5"),
    ],
)
def test_shows_what_a_machine_says(
    files: dict[str, str], make: Callable[[Tree], Attribute], shown: str, tmp_path: Path
) -> None:
    assert make(machine(tmp_path, **files)).read_value() == shown


@pytest.mark.parametrize(
    "make", [StackLimit, lambda: HugePages("never"), FileMask, Niceness, Layout, lambda: Affinity(frozenset({0}))]
)
def test_shows_something_where_the_machine_says_nothing(make: Callable[[], Attribute], tmp_path: Path) -> None:
    attribute = make()
    attribute._tree = Tree(tmp_path)  # type: ignore[attr-defined]
    assert attribute.read_value()


@pytest.mark.parametrize("make", [Layout, lambda: StackLimit(6 << 20), lambda: HugePages("never"), FileMask, some_cpu])
def test_apply_and_undo_on_this_machine(make: Callable[[], Attribute]) -> None:
    attribute = make()
    before = attribute.read_value()
    try:
        attribute.apply()
    except OSError as error:
        pytest.skip(f"not allowed here: {error}")
    assert attribute.read_value() == attribute.target
    attribute.undo()
    assert attribute.read_value() == before


def test_niceness_is_lowered_and_raised_where_that_is_allowed() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root")
    before = os.getpriority(os.PRIO_PROCESS, 0)
    attribute = Niceness(before + 3)
    attribute.apply()
    assert os.getpriority(os.PRIO_PROCESS, 0) == before + 3 == int(attribute.read_value())
    attribute.undo()
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


@pytest.mark.parametrize(("before", "after"), [(3, 10), (10, 10), (15, 15)])
def test_a_priority_that_is_lower_already_is_left(before: int, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {0: before}

    def set_priority(_: int, thread: int, value: int) -> None:
        if value < values[thread]:
            raise PermissionError
        values[thread] = value

    monkeypatch.setattr(os, "getpriority", lambda _, thread: values[thread])
    monkeypatch.setattr(os, "setpriority", set_priority)
    lower_priority(0, 10)
    assert values == {0: after}


def test_niceness_that_could_not_be_had_again_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (0, 0))
    attribute = Niceness(os.getpriority(os.PRIO_PROCESS, 0) + 1)
    with pytest.raises(PermissionError, match="could not be restored"):
        attribute.apply()


def test_fewer_processors_than_asked_for_are_refused_and_nothing_changes() -> None:
    before = os.sched_getaffinity(0)
    with pytest.raises(PermissionError, match="are available"):
        Affinity(frozenset(before | {99_999})).apply()
    assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize(("text", "cpus"), [("0", {0}), ("0-3,8", {0, 1, 2, 3, 8}), ("5,4-5", {4, 5})])
def test_lists_of_processors(text: str, cpus: set[int]) -> None:
    assert parse_cpus(text) == cpus
    assert parse_cpus(Affinity(frozenset(cpus)).target) == cpus


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "0-1,3-2", "3-2,0-1", "1,,2", "1 2", "0-9999999"])
def test_what_is_no_list_of_processors_is_refused(text: str) -> None:
    with pytest.raises(FaultwatchError):
        parse_cpus(text)


def test_a_memory_policy_of_the_caller_is_set_aside() -> None:
    try:
        system_calls.set_memory_policy(system_calls.NodePolicy(2, b"\1"))  # MPOL_BIND to node 0
    except OSError:
        pytest.skip("this host does not let us set a memory policy")
    try:
        policy = MemoryPolicy()
        assert policy.read_value() == "bind"
        policy.apply()
        assert policy.read_value() == "default"
        policy.undo()
        assert system_calls.get_memory_policy() == system_calls.NodePolicy(2, b"\1".ljust(128, b"\0"))
    finally:
        system_calls.set_memory_policy(system_calls.NodePolicy(0, b""))
