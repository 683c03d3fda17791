"""One measurement at a time."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runner.errors import FaultwatchError
from runner.host.host_lock import Holder, find_holder
from runner.host.host_turn import HostTurn
from runner.settings import HOST_LOCK, load_settings
from tests.runner.host.measuring_command import other


def test_a_second_measurement_waits_and_says_for_whom(lock: Path) -> None:
    with HostTurn(lock, print) as turn:
        turn.begin()
        second = other(lock)
        assert second.stdout
        line = second.stdout.readline()
        assert f"waiting for process {os.getpid()} (" in line
        assert "running since 2" in line
        assert Path(sys.executable).name in line
    assert second.communicate(timeout=60)[0] == "mine\n"


def test_who_waits_is_told_that_the_holder_is_stopped(lock: Path) -> None:
    first = other(lock)
    assert first.stdout
    assert first.stdout.readline() == "mine\n"
    first.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, first.pid, os.WSTOPPED)
    second = other(lock)
    assert second.stdout
    assert f"stopped; `kill -CONT {first.pid}` resumes it" in second.stdout.readline()
    first.send_signal(signal.SIGCONT)
    first.communicate(timeout=60)
    assert second.communicate(timeout=60)[0] == "mine\n"


def test_who_waits_is_told_that_the_holder_has_ended_and_left_a_process(lock: Path) -> None:
    descriptor = os.open(lock, os.O_RDONLY)
    locking = subprocess.run(
        [sys.executable, "-c", "import fcntl, os, sys; fcntl.flock(int(sys.argv[1]), fcntl.LOCK_EX)", str(descriptor)],
        pass_fds=[descriptor],
        check=True,
    )
    assert locking.returncode == 0
    second = other(lock)
    assert second.stdout
    assert "left behind" in second.stdout.readline()
    os.close(descriptor)
    assert second.communicate(timeout=60)[0] == "mine\n"


def test_a_turn_that_has_not_begun_or_has_ended_holds_up_nobody(lock: Path) -> None:
    with HostTurn(lock, print) as turn:
        for _ in range(2):
            assert other(lock).communicate(timeout=60)[0] == "mine\n"
            turn.begin()
            turn.end()


def test_the_command_of_the_holder_cannot_steer_a_terminal(lock: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()", "\x1b[2J one\ntwo \x07"], stdin=subprocess.PIPE, text=True
    ) as process:
        said = Holder(process.pid).describe()
        while "input" not in said:  # it is still becoming that program
            said = Holder(process.pid).describe()
        process.communicate("\n")
    assert said.isprintable()
    assert said.endswith("-c input() \N{REPLACEMENT CHARACTER}[2J one two \N{REPLACEMENT CHARACTER}")


def test_a_holder_that_is_killed_lets_go(lock: Path) -> None:
    said: list[str] = []
    first = other(lock)
    assert first.stdout
    assert first.stdout.readline() == "mine\n"
    found = find_holder(lock)
    assert found
    assert found.pid == first.pid
    assert "secret" not in found.describe()
    first.kill()
    first.communicate()
    with HostTurn(lock, said.append) as turn:
        turn.begin()
    assert not said
    assert find_holder(lock) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="changes the user")
def test_by_default_root_and_others_share_a_lock_that_nobody_can_replace() -> None:
    state = HOST_LOCK.stat()
    assert (state.st_uid, state.st_mode & 0o022) == (0, 0)
    command = ["sh", "-c", f"exec <{HOST_LOCK} && echo opened; mkdir {HOST_LOCK}/x"]
    done = subprocess.run(command, user=65534, capture_output=True, text=True, check=False)
    assert done.stdout == "opened\n"
    assert done.returncode != 0


def test_a_lock_that_does_not_exist_or_is_a_link_is_refused(tmp_path: Path, lock: Path) -> None:
    (tmp_path / "link").symlink_to(lock)
    for name in ("missing", "link"):
        with HostTurn(tmp_path / name, print) as turn, pytest.raises(FaultwatchError, match="FAULTWATCH_HOST_LOCK"):
            turn.begin()


def test_what_was_left_behind_is_cleared_when_the_turn_begins(lock: Path) -> None:
    cleared: list[bool] = []
    with HostTurn(lock, print, lambda: cleared.append(find_holder(lock) is not None)) as turn:
        turn.begin()
        turn.begin()
    assert cleared == [True]


def test_the_lock_can_be_named(monkeypatch: pytest.MonkeyPatch, lock: Path) -> None:
    monkeypatch.setenv("FAULTWATCH_HOST_LOCK", str(lock))
    assert load_settings().lock == lock
    monkeypatch.delenv("FAULTWATCH_HOST_LOCK")
    assert load_settings().lock == HOST_LOCK


def test_a_job_of_the_service_is_named_with_what_tells_its_purpose() -> None:
    # A process has no words yet in the moment in which its program is loaded: it says when it runs.
    program = "import time; print(flush=True); time.sleep(60)"
    command = [sys.executable, "-c", program, "job", "run", "--no-sandbox", "12"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        said = Holder(process.pid).describe()
        process.kill()
    assert said.endswith("12 (`faultwatch job show 12` shows its purpose, `faultwatch job pause 12` frees the host)")


def test_who_measures_commit_by_commit_gives_way_to_those_who_wait(lock: Path) -> None:
    lines: list[str] = []
    with HostTurn(lock, lines.append) as turn:
        turn.begin()
        turn.give_way()
        assert lines == []  # nobody waits
        waiting = other(lock), other(lock)
        for process in waiting:
            assert process.stdin
            assert process.stdout
            assert "waiting" in process.stdout.readline()
            process.stdin.close()  # so it ends as soon as it had the lock
        turn.give_way()
        for process in waiting:
            assert process.stdout
            assert process.stdout.read() == "mine\n"
            process.stdout.close()
            process.wait()
        holder = find_holder(lock)
        assert holder
        assert holder.pid == os.getpid()


def test_who_waits_is_told_how_many_wait_before(lock: Path) -> None:
    with HostTurn(lock, print) as turn:
        turn.begin()
        second = other(lock)
        assert second.stdout
        assert "ahead of this command" not in second.stdout.readline()
        third = other(lock)
        assert third.stdout
        assert third.stdout.readline().endswith("; 1 more is waiting ahead of this command\n")
    for process in (second, third):  # which of them is first is up to the kernel
        process.kill()
        process.communicate()


def test_a_command_that_is_interrupted_while_it_builds_does_not_wait(lock: Path) -> None:
    with HostTurn(lock, print) as turn:
        turn.begin()
        with pytest.raises(KeyboardInterrupt), turn.pause():
            second = other(lock)
            assert second.stdout
            assert second.stdout.readline() == "mine\n"
            raise KeyboardInterrupt
    second.communicate(timeout=60)
