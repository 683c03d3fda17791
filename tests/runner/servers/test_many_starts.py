"""Two hundred starts of servers that misbehave in every way: each ends in time, with one line, and leaves nothing."""

import random
import socket
import time
from pathlib import Path

import pytest

from runner.perf.program_failure import ExecutionFailure
from tests.runner.servers.conftest import Execute
from tests.runner.servers.test_server_execution import FAILURES, list_processes_in

pytestmark = [pytest.mark.perf, pytest.mark.thorough]

_STARTS = 200
_MAX_SECONDS = 20
"""Seconds that a start may take on a busy machine: its limits, and what ends it."""
_HEALTHY = ("quiet", "touch", "fork", "print")


@pytest.mark.timeout(1800)
def test_two_hundred_starts_leave_nothing(execute: Execute, tree: Path) -> None:
    chance = random.Random(1)
    modes = [*FAILURES, "disk", *_HEALTHY]
    limits = {"ready_timeout": 1, "stop_timeout": 1, "timeout": 5, "windows": 1, "warm_up": 0}
    for number in range(_STARTS):
        mode = modes[number % len(modes)]
        # Only a sandbox limits what a program takes of the disk.
        sandboxed = mode == "disk" or chance.random() < 0.5
        started = time.monotonic()
        if mode in _HEALTHY:
            execute(mode, sandboxed=sandboxed, **limits)
        else:
            with pytest.raises(ExecutionFailure) as failure:
                execute(mode, sandboxed=sandboxed, **limits)
            assert "\n" not in failure.value.message
        assert time.monotonic() - started < _MAX_SECONDS, mode
        assert list_processes_in(tree) == [], mode
        assert not (tree / "faultwatch-data").exists(), mode
        with socket.socket() as again:
            again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            again.bind(("127.0.0.1", 20_000))
