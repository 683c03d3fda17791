"""Two commands at once on one host and one data directory."""

import json
import subprocess
import threading
from pathlib import Path

import pytest

from runner.host.lock import holder
from tests.runner.commands import command_line, make_history, variables

pytestmark = pytest.mark.perf


def test_of_two_commands_one_waits_and_uses_the_build_of_the_other(tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10])
    lock, home = tmp_path / "lock", tmp_path / "home"
    lock.touch()

    def start() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command_line("measure", "repo", "--json"),
            env=variables(home, FAULTWATCH_HOST_LOCK=str(lock)),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    first = start()
    while (found := holder(lock)) is None or found.process != first.pid:
        assert first.poll() is None, first.communicate()[1]
        threading.Event().wait(0.005)
    second = start()
    results = [process.communicate(timeout=120) for process in (first, second)]
    (one,), (other,) = (json.loads(output) for output, _ in results)
    assert [one["build"]["cached"], other["build"]["cached"]] == [False, True]
    assert one["samples"][0]["readings"]["minor-faults"] == other["samples"][0]["readings"]["minor-faults"]
    assert f"waiting for process {first.pid} (" in results[1][1]
