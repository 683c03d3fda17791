import ctypes
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runner.execution.execute import MAX_OUTPUT_BYTES, ProgramResult, execute

ROOT = Path(__file__).parents[3]
RT_SIGACTION = {"x86_64": 13, "aarch64": 134}
"""The numbers of the system call."""
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}


def run(script: str, tmp_path: Path, timeout: float = 10, merge_streams: bool = False) -> ProgramResult:
    return execute(
        ["sh", "-c", script], directory=tmp_path, environment=ENVIRONMENT, timeout=timeout, merge_streams=merge_streams
    )


def test_keeps_the_streams_apart(tmp_path: Path) -> None:
    done = run("echo out; echo err >&2", tmp_path)
    assert (done.status, done.output, done.error, done.problem) == (0, "out\n", "err\n", "")


def test_merges_the_streams_on_request(tmp_path: Path) -> None:
    assert run("echo one; echo two >&2; echo three", tmp_path, merge_streams=True).output == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("script", "trouble"),
    [
        ("exit 3", "ended with exit code 3"),
        ("kill -SEGV $$", "was terminated by SIGSEGV"),
        ("kill -36 $$", "was terminated by SIGRTMIN+2"),
        ("true", ""),
    ],
)
def test_says_how_a_program_ended(script: str, trouble: str, tmp_path: Path) -> None:
    assert run(script, tmp_path).problem == trouble


@pytest.fixture
def unusual_signals() -> Iterator[None]:
    """Ignore and block signals, as ``nohup``, shells and service managers do before they start a command.

    Some of those are not built with the C library that keeps signal 32 for itself, so they may ignore that too.
    """
    libc = ctypes.CDLL(None)
    previous_action, ignoring = (ctypes.c_ulong * 8)(), (ctypes.c_ulong * 8)(signal.SIG_IGN)
    assert libc.syscall(RT_SIGACTION[platform.machine()], 32, ignoring, previous_action, 8) == 0
    ignored = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGCHLD)}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in ignored.items():
        signal.signal(number, handler)
    libc.syscall(RT_SIGACTION[platform.machine()], 32, previous_action, None, 8)


@pytest.mark.usefixtures("unusual_signals")
def test_a_program_ignores_and_blocks_no_signals_that_its_caller_does(tmp_path: Path) -> None:
    done = run("grep -E '^Sig(Blk|Ign)' /proc/self/status; exit 3", tmp_path)
    assert done.output.split() == ["SigBlk:", "0" * 16, "SigIgn:", "0" * 16]
    assert done.status == 3


def test_a_program_that_hangs_is_ended_with_all_it_started(tmp_path: Path) -> None:
    done = run("(sleep 60; touch late) & echo before; sleep 60", tmp_path, timeout=0.4)
    assert done.status is None
    assert done.problem == "did not finish within 0.4 s"
    assert done.output == "before\n"
    assert done.seconds < 5
    assert not (tmp_path / "late").exists()


def test_does_not_wait_for_what_stays_in_the_background(tmp_path: Path) -> None:
    done = run("sleep 60 & echo started", tmp_path)
    assert done.output == "started\n"
    assert done.status == 0
    assert done.seconds < 5


def test_keeps_the_end_of_an_endless_output(tmp_path: Path) -> None:
    done = run("yes 0123456789 | head -c 5000000; echo the end", tmp_path)
    assert done.output.endswith("the end\n")
    assert len(done.output) == MAX_OUTPUT_BYTES


def test_reads_what_is_not_text(tmp_path: Path) -> None:
    assert run(r"printf '\377\376ok'", tmp_path).output.endswith("ok")


def test_gives_no_standard_input(tmp_path: Path) -> None:
    assert run("cat; echo done", tmp_path).output == "done\n"


def test_nothing_that_it_started_outlives_it_not_even_in_a_session_of_its_own(tmp_path: Path) -> None:
    script = "setsid sh -c 'echo $$ >pid; sleep 1000' & while ! test -s pid; do sleep 0.01; done"
    assert run(script, tmp_path).status == 0
    assert not is_running(tmp_path / "pid")
    assert run(f"rm -f pid; {script}; sleep 60", tmp_path, timeout=1).status is None
    assert not is_running(tmp_path / "pid")


def is_running(file: Path) -> bool:
    """Return whether the process whose number a file holds still runs."""
    return Path("/proc", file.read_text().strip()).exists()


RUNNER = """
import sys
from pathlib import Path
from runner.execution.execute import execute
script = "setsid sh -c 'echo $$ >grandchild; sleep 1000' & echo $$ >child; sleep 1000"
execute(["sh", "-c", script], directory=Path(sys.argv[1]), environment={"PATH": "/usr/bin:/bin"}, timeout=1000)
"""


def test_all_that_it_started_ends_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    runner = subprocess.Popen([sys.executable, "-c", RUNNER, str(tmp_path)], cwd=ROOT)
    files = [tmp_path / "child", tmp_path / "grandchild"]
    wait_until(lambda: all(file.exists() and file.read_text().strip() for file in files))
    runner.kill()
    runner.wait()
    wait_until(lambda: not any(map(is_running, files)))


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that has to happen, for a minute at most."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_what_cannot_be_executed_is_told_apart(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        execute(["no-such-program"], directory=tmp_path, environment=ENVIRONMENT, timeout=10)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(PermissionError):
        execute(["./text"], directory=tmp_path, environment=ENVIRONMENT, timeout=10)
