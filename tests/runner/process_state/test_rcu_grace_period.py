"""The kernel hurries while a process is moved, and only then."""

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from runner.process_state.rcu_grace_period import expedite_grace_periods, restore_grace_period
from runner.system.tree import Tree

ROOT = Path(__file__).parents[3]


@pytest.fixture
def switch(tmp_path: Path) -> Path:
    file = tmp_path / "sys/kernel/rcu_expedited"
    file.parent.mkdir(parents=True)
    file.write_text("0\n")
    (tmp_path / "run").mkdir()
    return file


def test_it_is_put_back(switch: Path, tmp_path: Path) -> None:
    with expedite_grace_periods(Tree(tmp_path)):
        assert switch.read_text().startswith("1")
    assert switch.read_text() == "0\n"


def test_it_is_put_back_where_the_move_fails(switch: Path, tmp_path: Path) -> None:
    with pytest.raises(ProcessLookupError), expedite_grace_periods(Tree(tmp_path)):
        raise ProcessLookupError
    assert switch.read_text() == "0\n"


def test_two_at_once_do_not_put_back_what_the_other_has_set(switch: Path, tmp_path: Path) -> None:
    begun, seen = threading.Event(), []

    def second() -> None:
        begun.set()
        with expedite_grace_periods(Tree(tmp_path)):
            seen.append(switch.read_text())

    with expedite_grace_periods(Tree(tmp_path)):
        other = threading.Thread(target=second)
        other.start()
        begun.wait()
        other.join(0.05)
        assert not seen, "the second waits"
    other.join()
    assert seen == ["1\n"]
    assert switch.read_text() == "0\n"


def test_nobody_waits_for_a_process_that_is_stopped_with_the_switch(switch: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from runner.system.tree import Tree\n"
        "from runner.process_state.rcu_grace_period import expedite_grace_periods\n"
        "with expedite_grace_periods(Tree(Path(sys.argv[1]))): os.kill(os.getpid(), 19)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT) as stopped:
        os.waitpid(stopped.pid, os.WUNTRACED)
        used: list[str] = []
        for wait in (use, restore_grace_period):
            thread = threading.Thread(target=lambda: used.append(wait.__name__) or wait(Tree(tmp_path)), daemon=True)  # noqa: B023
            thread.start()
            thread.join(20)
            assert not thread.is_alive(), used
        assert switch.read_text().startswith("1"), "the stopped one restores it"
        stopped.send_signal(signal.SIGCONT)
    assert switch.read_text() == "0\n"


def test_a_machine_without_the_switch_does_without(tmp_path: Path) -> None:
    with expedite_grace_periods(Tree(tmp_path)):
        pass


def test_a_machine_whose_run_folder_is_full_does_without(
    switch: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.write", refuse)
    with expedite_grace_periods(Tree(tmp_path)):
        assert switch.read_text() == "0\n"
    restore_grace_period(Tree(tmp_path))
    assert switch.read_text() == "0\n"


def test_it_is_put_back_after_a_runner_that_was_killed(switch: Path, tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from runner.system.tree import Tree\n"
        "from runner.process_state.rcu_grace_period import expedite_grace_periods\n"
        "with expedite_grace_periods(Tree(Path(sys.argv[1]))): os.kill(os.getpid(), 9)"
    )
    for restore in (restore_grace_period, use):
        subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=False)
        assert switch.read_text().startswith("1")
        restore(Tree(tmp_path))
        assert switch.read_text() == "0\n"
        assert not list((tmp_path / "run").rglob("rcu_expedited"))


def use(tree: Tree) -> None:
    with expedite_grace_periods(tree):
        pass


def test_what_an_administrator_has_switched_on_stays_on(switch: Path, tmp_path: Path) -> None:
    switch.write_text("1\n")
    use(Tree(tmp_path))
    restore_grace_period(Tree(tmp_path))
    assert switch.read_text() == "1\n"
