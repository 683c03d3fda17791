"""Two commands at once on one host and one data directory."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.host.host_lock import find_holder
from runner.host.host_turn import HostTurn
from tests.ordinary_user import as_ordinary
from tests.runner.commands import command_line, compiled_programs, make_history, served, variables

pytestmark = pytest.mark.perf


def test_of_two_commands_one_waits_for_the_other(tmp_path: Path) -> None:
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
    while (found := find_holder(lock)) is None or found.pid != first.pid:
        assert first.poll() is None, first.communicate()[1]
        threading.Event().wait(0.005)
    # The first one is stopped until the other one says that it waits, however slow the machine is.
    first.send_signal(signal.SIGSTOP)
    try:
        second = start()
        assert second.stderr
        waits = any(f"waiting for process {first.pid} (" in line for line in second.stderr)
    finally:
        first.send_signal(signal.SIGCONT)
    results = [process.communicate(timeout=120) for process in (first, second)]
    (one,), (other,) = (json.loads(output) for output, _ in results)
    assert one["samples"][0]["readings"]["minor-faults"] == other["samples"][0]["readings"]["minor-faults"]
    assert waits


def test_a_job_that_waits_is_not_lost_and_holds_up_nobody(tmp_path: Path) -> None:
    commits = make_history(tmp_path / "repo", [10])
    lock, home = tmp_path / "lock", tmp_path / "home"
    lock.touch()
    with (
        served(home, FAULTWATCH_LEASE_SECONDS="2") as proxy,
        compiled_programs(home),
        HostTurn(lock, print) as turn,
    ):
        turn.begin()
        question = {"kind": "measure", "subject": "repo", "case": "pages", "revision": commits[0], "host": "box"}
        number = proxy.ask("/jobs", {"question": question, "backend": "caller"})["id"]
        words = command_line("job", "run", str(number), "--repo", "repo", "repo/workload.toml")
        job = subprocess.Popen(
            words,
            env=variables(home, proxy.url, FAULTWATCH_HOST_LOCK=str(lock)),
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        while "waiting for process" not in str(proxy.ask(f"/jobs/{number}")["sentence"]):
            assert job.poll() is None, job.communicate()[0]
            threading.Event().wait(0.05)
        threading.Event().wait(3)  # longer than the lease
        assert proxy.ask(f"/jobs/{number}")["state"] == "running"
        turn.end()
        output, _ = job.communicate(timeout=120)
        assert (job.returncode, proxy.ask(f"/jobs/{number}")["state"]) == (0, "done"), output
        assert output.count("waiting for process") == 1


SLOW = """
[workload]
name = "slow"
[build]
command = "sh -c 'touch {folder}/building; until test -e {folder}/measured; do sleep 0.1; done'"
[run]
command = ["true"]
"""


def test_a_measurement_does_not_wait_for_the_build_of_another(tmp_path: Path) -> None:
    make_history(tmp_path / "repo", [10])
    (tmp_path / "lock").touch()
    (tmp_path / "slow.toml").write_text(SLOW.format(folder=tmp_path))
    environment = variables(tmp_path / "home", FAULTWATCH_HOST_LOCK=str(tmp_path / "lock"))

    def start(*words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command_line("measure", *words, "--repo", "repo", "--json"),
            env=environment,
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    with compiled_programs(tmp_path / "home"):
        building = start("slow.toml")
        wait_until((tmp_path / "building").exists)
        _, shown = start("repo/workload.toml").communicate(timeout=60)
        assert building.poll() is None  # It waits until the other one has been measured.
        (tmp_path / "measured").touch()
        assert "waiting for process" not in shown
        output, _ = building.communicate(timeout=60)
        assert json.loads(output)[0]["outcome"] == "measured"


LINGERING = """
[workload]
name = "lingering"
[run]
command = ["sh", "-c", "setsid sh -c 'echo $$ >pid; exec sleep 1000' & sleep 1000"]
"""


@pytest.mark.parametrize("user", ["root", "ordinary"] if os.geteuid() == 0 else ["ordinary"])
def test_a_program_ends_with_a_runner_that_is_killed_and_the_next_one_clears_the_rest(
    user: str,
) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        make_history(folder / "repo", [10])
        for place in ("home", "tmp"):
            (folder / place).mkdir()
        (folder / "lingering.toml").write_text(LINGERING)
        (folder / "lock").touch()
        own = {"FAULTWATCH_HOST_LOCK": str(folder / "lock"), "TMPDIR": str(folder / "tmp"), "HOME": str(folder)}

        def start(*words: str) -> "subprocess.Popen[bytes]":
            command = command_line("measure", *words, "--repo", "repo")
            return subprocess.Popen(
                as_ordinary(command, folder) if user == "ordinary" and os.geteuid() == 0 else command,
                env=variables(folder / "home", **own),
                cwd=folder,
            )

        runner = start("lingering.toml")
        wait_until(lambda: any(pid.read_text().strip() for pid in folder.glob("home/builds/*/*/tree/pid")))
        (pid,) = (pid.read_text().strip() for pid in folder.glob("home/builds/*/*/tree/pid"))
        found = find_holder(folder / "lock")
        assert found
        os.kill(found.pid, signal.SIGKILL)
        runner.wait()
        wait_until(lambda: not Path("/proc", pid).exists())
        assert start("repo/workload.toml").wait() == 0
        assert not list((folder / "tmp").glob("faultwatch-*"))
        builds = [path for path in folder.glob("home/builds/*/*") if path.is_dir()]
        assert all((build / "build.json").exists() for build in builds)


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that has to happen, for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
