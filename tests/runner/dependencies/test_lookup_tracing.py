"""What is seen of a command's questions, whatever it does to hide them."""

import os
import platform
import signal
import subprocess
import time
from pathlib import Path

import pytest

from runner.dependencies.lookup_tracing import LookupTracer
from runner.dependencies.recorded_lookups import Lookups
from runner.execution.execute import execute
from runner.system.pause_processes import pause_descendants

pytestmark = pytest.mark.perf


def follow(script: str, folder: Path, *, counted: bool = False) -> tuple[Lookups, str]:
    """Follow a script in a folder."""
    with LookupTracer(is_launched=False, is_counted=counted) as tracer:
        done = execute(
            tracer.wrap_command(["sh", "-c", script]),
            directory=folder,
            environment={"PATH": "/usr/bin:/bin"},
            timeout=60,
            merge_streams=True,
            inherited_descriptors=tracer.inherited_descriptors,
        )
        assert not done.problem, done.output
        return tracer.read_lookups(), done.output


def of_folder(lookups: Lookups, folder: Path) -> set[tuple[str, str]]:
    return {(kind, path.removeprefix(f"{folder}/")) for kind, path in lookups.entries if path.startswith(f"{folder}/")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    for name in ("one", "two", "deep/three"):
        (tmp_path / name).write_text(name)
    (tmp_path / "link").symlink_to("one")
    return tmp_path


@pytest.mark.parametrize("counted", [False, True])
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat deep/three", {("c", "deep/three")}),
        ("cat absent || :", {("c", "absent")}),
        ("test -x one || :", {("s", "one")}),
        ("test -e absent || :", {("s", "absent")}),
        ("readlink link", {("l", "link")}),
        ("ls deep", {("d", "deep")}),
        ("cat link", {("c", "link"), ("c", "one")}),
        ("ln -s one alias && test -s alias && rm alias", {("s", "one")}),
        ("ln one alias && cat alias && rm alias", {("c", "one")}),
        ("cd deep && cat ../two", {("c", "deep/../two")}),
        ("printf '#!./one\\n' >script; chmod +x script; ./script || :", {("c", "one")}),
        ("cp -r deep copy", {("c", "deep/three"), ("d", "deep")}),
        ("(cat one) & wait", {("c", "one")}),
        ("getfattr -d one 2>/dev/null || python3 -c 'import os; os.listxattr(\"one\")'", {("x", "one")}),
        ("cat /proc/self/cwd/two", {("c", "two")}),
        ("cat //proc/self/cwd/two", {("c", "two")}),
        ("cat /proc/self/../self/cwd/two", {("c", "two")}),
        ("test -e /proc/self/cwd/absent || :", {("s", "absent")}),
        ("exec 3<deep; cat /dev/fd/3/three", {("c", "deep/three")}),
        ("exec 3<two; cat /dev/fd/3", {("c", "two")}),
    ],
)
def test_every_question_is_seen(script: str, expected: set[tuple[str, str]], folder: Path, counted: bool) -> None:
    lookups, _ = follow(script, folder, counted=counted)
    assert lookups.untraced_reason == ""
    assert expected <= of_folder(lookups, folder)


@pytest.mark.parametrize(
    ("script", "made", "changed"),
    [
        ("echo text >new", {"new"}, set()),
        ("echo text >new; echo more >>new; rm new", {"new"}, {"new"}),
        ("mkdir folder; touch folder/new", {"folder", "folder/new"}, {"folder/new"}),
        ("echo text >one", set(), {"one"}),
        ("mv one other", {"other"}, {"one"}),
        ("rm two", set(), {"two"}),
        ("chmod 600 one", set(), {"one"}),
        ("touch -d @1 one", set(), {"one"}),
    ],
)
def test_what_is_made_and_changed_is_seen(script: str, made: set[str], changed: set[str], folder: Path) -> None:
    lookups, _ = follow(script, folder)
    assert {Path(path).relative_to(folder).as_posix() for path in lookups.made_paths} == made
    assert changed <= {Path(path).relative_to(folder).as_posix() for path in lookups.changed_paths}
    assert bool(lookups.objection) is bool(changed - made)


@pytest.mark.parametrize(
    ("script", "missed"),
    [
        ("cat absent || :", {"absent"}),
        ("cat one; echo text >new; echo more >>new", set()),
        ("python3 -c 'import os; os.open(\"new\", os.O_RDWR | os.O_CREAT)'", {"new"}),
        ("python3 -c 'import os; os.open(\"new\", os.O_RDWR | os.O_CREAT | os.O_TRUNC)'", set()),
        ("test -e absent || :", set()),
    ],
)
@pytest.mark.parametrize("counted", [False, True])
def test_what_would_be_read_if_it_were_there_is_seen(
    script: str, missed: set[str], folder: Path, counted: bool
) -> None:
    lookups, _ = follow(script, folder, counted=counted)
    assert {Path(path).name for path in lookups.missed_paths if Path(path).parent == folder} == missed


_UNFOLLOWED = {
    "a socket": "import socket; a = socket.socket(socket.AF_UNIX); a.bind('s'); a.listen(); "
    "socket.socket(socket.AF_UNIX).connect('s')",
    "another filter": "import ctypes; ctypes.CDLL(None).prctl(22, 1, 0, 0, 0)",
    "a process that is not traced": "import ctypes; ctypes.CDLL(None).syscall(56, 0x00800000 | 17, 0, 0, 0, 0) or "
    "__import__('os')._exit(0)",
    "a socket that is missing": "import socket; socket.socket(socket.AF_UNIX).connect('absent')",
    "a message to a socket": "import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', 'absent')",
    "a link to the kernel's links": "import os; os.symlink('/proc/self/cwd', 'here'); os.stat('here/two')",
    "a name of a thread": "import os; os.stat(f'/proc/self/task/{os.getpid()}/cwd/two')",
    "another root": "import os; os.chroot('.')",
    "shared memory": "import ctypes; c = ctypes.CDLL(None); c.shmat(c.shmget(0, 4096, 0o1600), 0, 0)",
    "io_uring": "import ctypes; ctypes.CDLL(None).syscall(425, 1, 0)",
    "another process": "import os; open(f'/proc/{os.getppid()}/exe').close()",
}


@pytest.mark.parametrize("how", _UNFOLLOWED)
def test_what_cannot_be_followed_is_said(how: str, folder: Path) -> None:
    if how == "a process that is not traced" and platform.machine() != "x86_64":
        pytest.skip("the number of the call is that of Linux on x86-64")
    (folder / "script.py").write_text(_UNFOLLOWED[how])
    lookups, _ = follow("python3 script.py; :", folder)
    assert lookups.untraced_reason


def test_a_followed_command_ends_as_it_would_and_its_output_is_its_own(folder: Path) -> None:
    with LookupTracer(is_launched=False, is_counted=False) as tracer:
        words = tracer.wrap_command(["sh", "-c", "echo out; exit 7"])
        assert (
            subprocess.run(words, pass_fds=tracer.inherited_descriptors, check=False, capture_output=True).returncode
            == 7
        )
        words = tracer.wrap_command(["sh", "-c", "kill -TERM $$"])
        assert subprocess.run(words, pass_fds=tracer.inherited_descriptors, check=False).returncode == -15


def test_a_program_that_asks_without_end_is_ended(folder: Path) -> None:
    (folder / "script.py").write_text("import os\nwhile True:\n    os.path.exists('absent')\n")
    with LookupTracer(is_launched=False, is_counted=True) as tracer:
        words = tracer.wrap_command(["python3", str(folder / "script.py")])
        subprocess.run(words, pass_fds=tracer.inherited_descriptors, check=False, timeout=60)
        assert "too often" in tracer.read_lookups().untraced_reason


def test_what_a_program_has_started_is_ended_with_it_if_it_asks_without_end(folder: Path) -> None:
    (folder / "script.py").write_text("import os\nwhile True:\n    os.path.exists('absent')\n")
    with LookupTracer(is_launched=False, is_counted=True) as tracer:
        words = tracer.wrap_command(["sh", "-c", f"sleep 300 & exec python3 {folder}/script.py"])
        subprocess.run(words, pass_fds=tracer.inherited_descriptors, check=False, timeout=60)
        assert "too often" in tracer.read_lookups().untraced_reason


def test_stopping_and_continuing_everything_does_not_end_it(folder: Path) -> None:
    with LookupTracer(is_launched=False, is_counted=False) as tracer:
        words = tracer.wrap_command(["sh", "-c", "for n in 1 2 3 4 5 6 7 8; do cat one >/dev/null; sleep 0.05; done"])
        process = subprocess.Popen(words, pass_fds=tracer.inherited_descriptors, cwd=folder)
        for _ in range(3):
            time.sleep(0.05)
            os.kill(process.pid, signal.SIGSTOP)
            with pause_descendants([process.pid]):
                time.sleep(0.05)
            os.kill(process.pid, signal.SIGCONT)
        assert process.wait(timeout=30) == 0
        assert ("c", "one") in of_folder(tracer.read_lookups(), folder)
