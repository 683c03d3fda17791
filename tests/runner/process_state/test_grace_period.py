"""The kernel hurries while a process is moved, and only then."""

import threading
from pathlib import Path

import pytest

from runner.process_state.grace_period import expedited
from runner.system.tree import Tree


@pytest.fixture
def switch(tmp_path: Path) -> Path:
    file = tmp_path / "sys/kernel/rcu_expedited"
    file.parent.mkdir(parents=True)
    file.write_text("0\n")
    return file


def test_it_is_put_back(switch: Path, tmp_path: Path) -> None:
    with expedited(Tree(tmp_path)):
        assert switch.read_text().startswith("1")
    assert switch.read_text() == "0\n"


def test_it_is_put_back_where_the_move_fails(switch: Path, tmp_path: Path) -> None:
    with pytest.raises(ProcessLookupError), expedited(Tree(tmp_path)):
        raise ProcessLookupError
    assert switch.read_text() == "0\n"


def test_two_at_once_do_not_put_back_what_the_other_has_set(switch: Path, tmp_path: Path) -> None:
    begun, seen = threading.Event(), []

    def second() -> None:
        begun.set()
        with expedited(Tree(tmp_path)):
            seen.append(switch.read_text())

    with expedited(Tree(tmp_path)):
        other = threading.Thread(target=second)
        other.start()
        begun.wait()
        other.join(0.05)
        assert not seen, "the second waits"
    other.join()
    assert seen == ["1\n"]
    assert switch.read_text() == "0\n"


def test_a_machine_without_the_switch_does_without(tmp_path: Path) -> None:
    with expedited(Tree(tmp_path)):
        pass
