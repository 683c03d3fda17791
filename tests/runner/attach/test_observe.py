"""Observes real processes with perf, and leaves nothing behind."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

import pytest

from runner.doctor.counting import require_measurable_host
from runner.profile.permissions import detect_recording_permissions
from tests.ordinary_user import as_ordinary
from tests.runner.attach.live_programs import (
    LINE,
    build_program,
    find_child,
    list_temporary_files,
    observe,
    observe_until_sampled,
    run_program,
)
from tests.runner.commands import command_line, variables

pytestmark = pytest.mark.perf
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_measurable_host()
    return build_program(tmp_path_factory.mktemp("live"))


@pytest.fixture
def tracepoints() -> None:
    if not detect_recording_permissions().tracepoints:
        pytest.skip("tracepoints cannot be recorded here")


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.parametrize(
    ("mode", "rule", "touch"),
    [
        ("mapped", "temporary-buffers", "after munmap"),
        pytest.param("returned", "returned-memory", "after madvise", marks=pytest.mark.thorough),
    ],
)
def test_a_planted_trouble_is_named_with_its_line(
    program: Path, tmp_path: Path, mode: str, rule: str, touch: str
) -> None:
    with run_program([program, mode]) as process:
        result, shown = observe_until_sampled(tmp_path, str(find_child(process)))
    assert [finding["rule"] for finding in result["diagnosis"]["findings"]] == [rule]
    profile = result["profile"]
    assert profile["anatomy"]["by_touch"][touch] > 0.8 * profile["anatomy"]["counted"]
    site = profile["anatomy"]["sites"][0]["frame"]
    assert (site["function"], site["line"], site["module"]) == ("touch_pages", LINE, "live")
    assert shown.count("faults/s") >= 3
    assert any(
        re.fullmatch(r"system calls were recorded for \d+\.\d of \d+\.\d s", line)
        for line in result["profile"]["remarks"]
    )


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.thorough
def test_many_calls_of_others_leave_the_recordings_readable_and_touches_known(program: Path, tmp_path: Path) -> None:
    with ExitStack() as others, run_program([program, "returned"]) as process:
        for _ in range(4):
            others.enter_context(run_program([program, "calling"]))
        result, _ = observe(tmp_path, str(find_child(process)), "--for", "6s")
    started_at, finished_at = (datetime.fromisoformat(result["profile"][key]) for key in ("started_at", "finished_at"))
    assert (finished_at - started_at).total_seconds() >= 6
    assert not any("read only up to" in remark for remark in result["profile"]["remarks"])
    assert result["profile"]["faults"]["stacks"]
    # The recording of calls ends long before that of the faults.
    anatomy = result["profile"]["anatomy"]
    assert anatomy["by_touch"]["after madvise"] > 0.8 * anatomy["counted"]


@pytest.mark.usefixtures("tracepoints")
@pytest.mark.thorough
def test_a_process_that_was_idle_at_first_is_recorded_when_it_becomes_busy(program: Path, tmp_path: Path) -> None:
    with run_program(["sh", "-c", f"sleep 1.7; exec '{program}' mapped"]) as process:
        result, _ = observe(tmp_path, str(find_child(process)), "--for", "6s")
    assert [finding["rule"] for finding in result["diagnosis"]["findings"]] == ["temporary-buffers"]
    assert any(re.match(r"[\d,]{4,} faults were recorded", remark) for remark in result["profile"]["remarks"])


@needs_root
@pytest.mark.thorough
def test_somebody_else_may_record_the_same_faults(program: Path, tmp_path: Path) -> None:
    with run_program([program, "mapped"]) as process:
        pid = str(find_child(process))
        # The event that is opened last may record first; in both recordings, its number then stands for the other's.
        record = f"perf record -q -c 7 -e page-faults -e context-switches -o '{tmp_path}/other.data' -p {pid}"
        other = subprocess.Popen(["sh", "-c", f"while sleep .1; do timeout 1.5 {record}; done"])
        try:
            result, _ = observe(tmp_path, pid, "--for", "10s")
        finally:
            other.terminate()
            other.wait()
    assert result["profile"]["anatomy"]["counted"] > 0
    assert any("read only up to" in remark for remark in result["profile"]["remarks"])


def test_a_healthy_program_has_no_diagnosis(program: Path, tmp_path: Path) -> None:
    # Under a name of its own: other tests run programs of the same name at the same time.
    with run_program([shutil.copy(program, tmp_path / "healthy"), "healthy"]) as process:
        result, _ = observe(tmp_path, "--name", "healthy", "--for", "4s")
        assert result["profile"]["readings"]["task-clock"]["value"] > 0
        assert find_child(process)
    assert result["diagnosis"]["findings"] == []


@pytest.mark.thorough
@pytest.mark.usefixtures("tracepoints")
def test_pages_that_are_copied_after_a_fork_are_named(program: Path, tmp_path: Path) -> None:
    with run_program([program, "forking"]) as process:
        result, _ = observe_until_sampled(tmp_path, str(find_child(process)))
    touches = result["profile"]["anatomy"]["by_touch"]
    assert touches["after fork"] > 0.5 * sum(touches.values())
    assert result["diagnosis"]["findings"][0]["rule"] == "copies-after-fork"


def test_a_process_that_ends_is_reported_as_far_as_it_was_seen(program: Path, tmp_path: Path) -> None:
    with run_program([program, "mapped"], seconds=5) as process:
        began = time.monotonic()
        result, _ = observe(tmp_path, str(find_child(process)), "--for", "60s")
    assert time.monotonic() - began < 59
    assert result["profile"]["readings"]["page-faults"]["value"] > 1000


def test_an_interrupt_ends_the_observation_with_its_results(program: Path, tmp_path: Path) -> None:
    with run_program([program, "mapped"]) as process:
        words = command_line("attach", str(find_child(process)), "--for", "60s")
        command = subprocess.Popen(
            words, env=variables(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert command.stderr is not None
        # Until each fault has been recorded for some time, which the cost shows.
        while not re.search(r"faults/s.* cost (?:0\.[1-9]|[1-9])", line := command.stderr.readline()):
            assert line
        command.send_signal(signal.SIGINT)
        output, _ = command.communicate(timeout=60)
    assert command.returncode == 0
    assert "stopped by Ctrl-C" in output
    assert "Stored as live-" in output


@pytest.mark.thorough
@pytest.mark.usefixtures("tracepoints")
def test_two_observations_are_compared(program: Path, tmp_path: Path) -> None:
    with run_program([program, "healthy"]) as process:
        before, _ = observe(tmp_path, str(find_child(process)), "--for", "2s")
    with run_program([program, "mapped"]) as process:
        done = subprocess.run(
            command_line(
                *(
                    "attach",
                    str(find_child(process)),
                    "--for",
                    "4s",
                    "--before",
                    before["observation_id"],
                    "--no-flame-graphs",
                )
            ),
            env=variables(tmp_path),
            capture_output=True,
            text=True,
            check=True,
        )
    assert f"touch_pages  live.c:{LINE}" in done.stdout or "touch_pages" in done.stdout
    assert "faults (+" in done.stdout
    assert {path.name for path in (tmp_path / "observations" / before["observation_id"]).iterdir()} >= {
        "observation.json",
        "on-cpu.folded",
        "on-cpu.speedscope.json",
        "on-cpu.pb.gz",
    }


@needs_root
def test_an_ordinary_user_observes_only_his_own_processes(program: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    copy = shutil.copy(program, home / "live")
    for folder in (tmp_path, *tmp_path.parents):
        if str(folder) != "/" and folder.stat().st_mode & 0o005 != 0o005:
            folder.chmod(folder.stat().st_mode | 0o005)
    environment = [f"{name}={value}" for name, value in variables(home).items() if name.startswith("FAULTWATCH")]
    words = ["env", *environment, "HOME=/nonexistent", *command_line("attach")]
    with run_program(["setpriv", "--reuid=1", "--regid=1", "--clear-groups", copy, "mapped"]) as process:
        done = subprocess.run(
            as_ordinary([*words, str(find_child(process)), "--for", "3s"], home),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "touch_pages" in done.stdout
    with run_program([program, "healthy"]) as process:
        done = subprocess.run(
            as_ordinary([*words, str(find_child(process))], home), capture_output=True, text=True, check=False
        )
    assert done.returncode == 2
    assert "belongs to root, and this user is not allowed to observe it" in done.stderr
    assert "run the command with sudo" in done.stderr


@needs_root
@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("bwrap"), reason="needs bubblewrap")
def test_functions_in_another_file_system_have_names(program: Path, tmp_path: Path) -> None:
    links = [word for name in ("lib", "lib64", "bin") for word in ("--symlink", f"usr/{name}", f"/{name}")]
    view = ["bwrap", "--ro-bind", "/usr", "/usr", *links, "--ro-bind", program.parent, "/app", "--proc", "/proc"]
    with run_program([*view, "--dev", "/dev", "--unshare-pid", "--die-with-parent", "/app/live", "mapped"]) as process:
        result, _ = observe(tmp_path, str(find_child(process)), "--for", "6s")
    frames = {(frame["function"], frame["line"]) for frame in result["profile"]["frames"]}
    assert ("touch_pages", LINE) in frames


def test_nothing_is_left_after_kills(program: Path, tmp_path: Path) -> None:
    kill_at_random(program, tmp_path, 1)


@pytest.mark.thorough
def test_nothing_is_left_after_a_hundred_kills(program: Path, tmp_path: Path) -> None:
    kill_at_random(program, tmp_path, 100)


def kill_at_random(program: Path, home: Path, kills: int) -> None:
    """Kill the command at random moments; check that perf ends, and that no file and no tracepoint stays."""
    chance = random.Random(4711)
    (home / "tmp").mkdir()
    environment = variables(home, TMPDIR=str(home / "tmp"))
    with run_program([program, "mapped"], seconds=30 * kills) as process:
        pid = find_child(process)
        before = read_tracepoints()
        for _ in range(kills):
            command = subprocess.Popen(
                command_line("attach", str(pid), "--for", "3s"),
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            time.sleep(chance.uniform(0.2, 7))
            command.send_signal(chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP]))
            command.wait()
            assert find_observers(pid, home) == []
            assert list_temporary_files(home) == []
            assert read_tracepoints() == before
        assert process.poll() is None


def find_observers(pid: int, home: Path) -> list[str]:
    """Return the processes that still look at a process, or hold a file of the command, some moments after its end."""
    deadline = time.monotonic() + 5
    while True:
        found = []
        for folder in Path("/proc").glob("[1-9]*"):
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
                files = [str(file.readlink()) for file in (folder / "fd").iterdir()]
            except OSError:
                continue
            if str(pid) in words or any(file.startswith(str(home)) for file in files):
                found.append(" ".join(words))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def read_tracepoints() -> str:
    """Return which tracepoints are on for all of the host."""
    file = Path("/sys/kernel/tracing/events/enable")
    return file.read_text() if os.access(file, os.R_OK) else ""


def test_the_first_line_comes_within_two_seconds(program: Path, tmp_path: Path) -> None:
    with run_program([program, "healthy"]) as process:
        began = time.monotonic()
        command = subprocess.Popen(
            command_line("attach", str(find_child(process)), "--for", "30s"),
            env=variables(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert command.stderr is not None
        assert "live" in command.stderr.readline()
        seconds = time.monotonic() - began
        command.kill()
        command.wait()
        command.stderr.close()
    # On a machine that other tests keep busy, it takes longer to start.
    assert seconds < (2 if os.getloadavg()[0] < 1 else 10), sys.version
