"""What perf lost is read from what is executed, whatever that is."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.doctor.counting import require_measurable_host
from runner.perf.lost_programs import LostPrograms, LostProgramsWatch, combine_losses, parse_lost_programs

COMPLETE = LostPrograms(complete=True)


@pytest.mark.parametrize(
    ("output", "lost"),
    [
        (b"0\0", COMPLETE),
        (b"0\0ping\0su\0", LostPrograms(("ping", "su"), complete=True)),
        (b"3\0ping\0", LostPrograms()),
        (b"", LostPrograms()),
        (b"0", LostPrograms()),
        (b"0\0pi", LostPrograms()),
    ],
)
def test_output_that_is_cut_off_or_missed_records_says_nothing(output: bytes, lost: LostPrograms) -> None:
    assert parse_lost_programs(output) == lost


def test_processes_that_ran_at_once_are_complete_only_if_each_is() -> None:
    ping = LostPrograms(("ping",), complete=True)
    assert combine_losses([COMPLETE, ping, ping]) == ping
    assert combine_losses([ping, LostPrograms()]) == LostPrograms(("ping",))


def watched(command: list[str]) -> LostPrograms:
    """Watch a command from before its execution."""
    require_measurable_host()
    waiting = subprocess.Popen(["sh", "-c", 'read line; exec "$@"', "sh", *command], stdin=subprocess.PIPE)
    watch = LostProgramsWatch(waiting.pid)
    try:
        watch.wait()
        waiting.communicate(b"\n")
        return watch.read_result()
    finally:
        watch.close()


def hidden(folder: Path) -> str:
    program = folder / "hidden"
    shutil.copy("/bin/true", program)
    os.chown(program, 1, 1)
    program.chmod(0o4755)
    return str(program)


@pytest.mark.perf
@pytest.mark.parametrize(
    "script",
    [
        "true",
        "for i in $(seq 300); do /bin/true; done",
        "ls / | sort | uniq | head -n 2 | wc -l",
        "(sleep 0.05; ls /) & sleep 0.2",
        "/no/such/program; exec /bin/true",
        "sh -c 'kill -9 $$'",
    ],
)
def test_nothing_is_lost_of_ordinary_programs(script: str) -> None:
    assert watched(["sh", "-c", f"({script}) >/dev/null 2>&1; true"]) == COMPLETE


@pytest.mark.perf
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program that changes its user")
@pytest.mark.parametrize(
    "script",
    [
        lambda program: f"exec {program}",
        lambda program: f"{program}; true",
        lambda program: f"for i in $(seq 200); do /bin/true; done; {program}; for i in $(seq 200); do /bin/true; done",
        lambda program: f"({program} &) ; sleep 0.1",
    ],
)
def test_a_program_that_changes_its_user_is_named(script: Callable[[str], str], tmp_path: Path) -> None:
    lost = watched(["sh", "-c", script(hidden(tmp_path))])
    assert lost == LostPrograms(("hidden",), complete=True)
