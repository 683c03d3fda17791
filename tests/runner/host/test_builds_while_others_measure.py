"""Builds stand still while another command measures."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.execution.build_clock import BuildClock
from runner.host.host_lock import find_holder
from runner.host.host_turn import HostTurn
from tests.runner.host.measuring_command import other

WRITING = "(while :; do echo >>lines; sleep 0.01; done) & wait"
"""A build: a shell that waits for what it has started."""


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_build_lets_others_measure_and_stands_still_meanwhile(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").touch()
    with HostTurn(lock, print) as turn:
        turn.begin()
        clock = BuildClock()
        with turn.pause(clock=clock):
            build = subprocess.Popen(["timeout", "60", "sh", "-c", WRITING], cwd=tmp_path)
            wait_until(lambda: (tmp_path / "lines").stat().st_size > 0)
            second = other(lock)
            assert second.stdout
            assert second.stdout.readline() == "mine\n"
            time.sleep(0.5)
            stopped = (tmp_path / "lines").stat().st_size
            stopped_at = clock.read()
            time.sleep(0.3)
            assert clock.read() == pytest.approx(stopped_at, abs=0.001)
            assert (tmp_path / "lines").stat().st_size == stopped
            second.communicate(timeout=60)
            wait_until(lambda: (tmp_path / "lines").stat().st_size > stopped)
            wait_until(lambda: clock.read() > stopped_at)
            build.terminate()
            build.wait()
        holder = find_holder(lock)
        assert holder
        assert holder.pid == os.getpid()


def test_what_ran_before_a_build_goes_on_while_others_measure(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "lines").touch()
    service = subprocess.Popen(["timeout", "60", "sh", "-c", WRITING], cwd=tmp_path)
    with HostTurn(lock, print) as turn:
        turn.begin()
        with turn.pause():
            second = other(lock)
            assert second.stdout
            assert second.stdout.readline() == "mine\n"
            time.sleep(0.5)
            before = (tmp_path / "lines").stat().st_size
            wait_until(lambda: (tmp_path / "lines").stat().st_size > before)
            second.communicate(timeout=60)
    service.terminate()
    service.wait()
